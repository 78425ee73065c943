// The modules' rooms, their folders, against the map in ARCHITECTURE.md: a room uses only rooms above it in
// its module's table.

/// A module's rooms as the map lists them, lowest first.
struct ModuleMap: Equatable {
  var name: String
  /// The line of its heading.
  var line: Int
  var rooms: [String]
}

enum RoomRules {
  /// The name of what lies in a module's own folder, and not in a room.
  static let root = "(root)"

  /// The modules under the heading `## Modules and rooms`: a heading `### Name` each, and a table whose first
  /// column names rooms.
  static func modules(of map: File) -> [ModuleMap] {
    var isMap = false
    var modules: [ModuleMap] = []
    for (index, line) in map.lines.enumerated() {
      if line.hasPrefix("## ") { isMap = line == "## Modules and rooms" }
      guard isMap else { continue }
      if line.hasPrefix("### ") {
        let name = line.dropFirst(4).split(separator: " ").first.map(String.init) ?? ""
        modules.append(ModuleMap(name: name, line: index + 1, rooms: []))
      } else if line.hasPrefix("| "), let cell = line.split(separator: "|").first?.trimmed(" `"),
        cell != "room", !modules.isEmpty
      {
        modules[modules.count - 1].rooms.append(String(cell))
      }
    }
    return modules
  }

  /// Each module and room is in the map and in the folder, and no room but a module's root is one file.
  static func roomsAreListed(map: File, sources: [File]) -> [Finding] {
    var findings: [Finding] = []
    let modules = modules(of: map)
    let places = sources.map(Place.init)
    for name in Set(places.map(\.module)).sorted() where !modules.contains(where: { $0.name == name }) {
      findings.append(Finding(path: map.path, line: 1, message: "the map lacks the module \(name)"))
    }
    for module in modules {
      let present = Dictionary(grouping: places.filter { $0.module == module.name }, by: \.room)
      let rooms = module.rooms.isEmpty ? [root] : module.rooms
      for room in Set(present.keys).subtracting(rooms).sorted() {
        findings.append(
          Finding(path: map.path, line: module.line, message: "\(module.name) has a room \(room)"))
      }
      for room in rooms where present[room] == nil {
        findings.append(
          Finding(path: map.path, line: module.line, message: "\(module.name) has no room \(room)"))
      }
      for (room, files) in present.sorted(by: { $0.key < $1.key }) where files.count == 1 && room != root {
        findings.append(Finding(path: files[0].path, line: 1, message: "\(room) is a room for one file"))
      }
    }
    return findings
  }

  /// A file uses no type and no member of a room that comes later in its module's table. A name that is
  /// declared in more than one room, or in a module below, can't be told, and is passed over; so is a
  /// member's name of one word, which anything may have.
  static func roomsUseWhatIsBelow(map: File, sources: [File]) -> [Finding] {
    var findings: [Finding] = []
    for module in modules(of: map) where module.rooms.count > 1 {
      let files = sources.filter { Place($0).module == module.name }
      var homes: [String: Set<String>] = [:]
      for file in files {
        for name in declaredTypes(in: file) + declaredMembers(in: file) {
          homes[name, default: []].insert(Place(file).room)
        }
      }
      for file in sources where Place(file).module != module.name {
        for name in declaredMembers(in: file) { homes[name]?.insert("") }
      }
      for file in files {
        guard let own = module.rooms.firstIndex(of: Place(file).room) else { continue }
        for (index, line) in file.code.enumerated() {
          for word in Set(line.words).subtracting(standardNames) {
            guard let rooms = homes[word], rooms.count == 1, let room = rooms.first,
              let other = module.rooms.firstIndex(of: room), other > own
            else { continue }
            findings.append(
              Finding(
                path: file.path, line: index + 1,
                message: "\(module.rooms[own]) uses \(word) of \(room), which is above it"))
          }
        }
      }
    }
    return findings
  }

  /// Where a file lies.
  private struct Place {
    let path: String
    let module: String
    let room: String

    init(_ file: File) {
      path = file.path
      let parts = file.path.split(separator: "/").map(String.init)
      module = parts.count > 1 ? parts[1] : ""
      room = parts.count > 3 ? parts[2] : RoomRules.root
    }
  }

  private static func declaredTypes(in file: File) -> [String] {
    let kinds: Set<String> = ["struct", "class", "enum", "actor", "protocol", "typealias"]
    return file.code.flatMap { line in
      let words = line.words
      return zip(words, words.dropFirst()).filter { kinds.contains($0.0) && $0.1.first?.isUppercase == true }
        .map(\.1)
    }
  }
  /// Names of the standard library that the library gives to something of its own too.
  private static let standardNames: Set<String> = [
    "allSatisfy", "compactMap", "dropLast", "hasPrefix", "lowerBound", "removeLast",
  ]

  /// Functions, properties, cases, labels and parameters whose names have two words or more.
  private static func declaredMembers(in file: File) -> [String] {
    file.code.flatMap { line in
      let words = line.words
      let named = zip(words, words.dropFirst()).filter { ["func", "case"].contains($0.0) }.map(\.1)
      // Of `let (a, b) = c`, all that comes before the equals sign.
      let start = words.firstIndex { ["let", "var"].contains($0) }
      let stored = start.map { start in
        words[(start + 1)...].prefix(max(1, String(line.prefix { $0 != "=" }).words.count - start - 1))
      }
      let labelled = line.split(separator: ":", omittingEmptySubsequences: false).dropLast().flatMap {
        String($0).words.suffix(2)
      }
      return (named + (stored ?? []) + labelled).filter {
        $0.first?.isLowercase == true && $0.contains(where: \.isUppercase)
      }
    }
  }
}
