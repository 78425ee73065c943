// The examples of the article "From Realm", line for line, on what its commands have imported.
import Foundation
import Notelog
import Testing

struct PlantLine: Codable {
  var realmID: String
  var planted: Double
  var place: String
  var tags: [String]
}

func write(_ lines: some Sequence<PlantLine>, to path: String) throws {
  let encoder = JSONEncoder()
  try Data().write(to: URL(filePath: path))
  let file = try FileHandle(forWritingTo: URL(filePath: path))
  for line in lines { try file.write(contentsOf: encoder.encode(line) + Data("\n".utf8)) }
  try file.close()
}

enum FromRealmArticle {
  struct Plant: Record {
    var id = RecordID()
    var realmID = ""
    var planted = Date(timeIntervalSince1970: 0)
    var place = ""
    var tags: [String] = []
    static let schema = Schema<Plant>("plant") {
      Plain("realmID", \.realmID, indexed: true)
      Plain("plantedAt", \.planted, indexed: true)
      Sealed("place", \.place)
      Plain("tags", json: \.tags)
      Unique(\.realmID)
      Migrated("planted") { old, plant in
        switch try old.value("planted") {
        case .double(let seconds): plant.set(\.planted, Date(timeIntervalSince1970: seconds))
        case .integer(let seconds): plant.set(\.planted, Date(timeIntervalSince1970: Double(seconds)))
        default: break
        }
      }
    }
  }

  /// What the old app writes, written by the page's code in its place; all dates are whole seconds.
  static let run = PageRun(
    setup: """
      cat >lines <<'EOF'
      \(lines)
      EOF
      printf '#!/bin/sh\\ncp "%s/lines" "$1"\\n' "$PWD" >programs/write-plants
      chmod +x programs/write-plants
      """,
    after: #"ls -d "$plain" 2>gone && exit 1 || true"#,
    check: { bench, shown in
      #expect(shown.contains("place    text, sealed") && shown.contains("tags     json, plain"))
      let store = try openedStore("plants.notelog", in: bench, [Plant.self])
      let newest = try rare(in: store)
      #expect(try newest.map { try $0.place } == ["the walled garden", "behind the shed"])
      #expect(try newest.map { try $0.planted.timeIntervalSince1970 } == [1_790_000_000, 1_780_000_000])
      #expect(throws: NotelogError(.notUnique, "")) {
        try store.write { tx in try tx.put(Plant(realmID: "a1")) }
      }
      try store.close()
    })

  private static let lines: String = {
    let plants = [
      PlantLine(realmID: "a1", planted: 1_780_000_000, place: "behind the shed", tags: ["rare", "old"]),
      PlantLine(realmID: "a2", planted: 1_785_000_000, place: "the lawn", tags: []),
      PlantLine(realmID: "a3", planted: 1_790_000_000, place: "the walled garden", tags: ["rare"]),
    ]
    let file = FileManager.default.temporaryDirectory.appending(path: "plants-\(UUID().uuidString)")
    defer { try? FileManager.default.removeItem(at: file) }
    do {
      try write(plants, to: file.path)
      return try String(contentsOf: file, encoding: .utf8)
    } catch {
      return "\(error)"
    }
  }()

  private static func rare(in store: Store) throws -> [Entry<Plant>] {
    try store.migrate(Plant.self)
    let newest = try store.query(Plant.self)
      .filter(\.tags) { $0.contains("rare") }
      .sorted(by: \.planted, .descending)
      .limit(50)
      .entries()
    return newest
  }
}
