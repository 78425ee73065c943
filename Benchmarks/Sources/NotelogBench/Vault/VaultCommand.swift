// `notelog-bench vault`: a vault of passwords beside the same over SQLite's C interface.
import CPeers
import Foundation
import Notelog

/// A folder of accounts.
private struct VaultFolder: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<VaultFolder>("folder") { Sealed("name", \.name) }
}

private struct VaultAccount: Record {
  var id = RecordID()
  var folder: RecordID?
  var created = Date(timeIntervalSince1970: 0)
  var title = ""
  var domain = ""
  var user = ""
  var password = ""
  var notes = ""
  static let schema = Schema<VaultAccount>("account") {
    Plain("folder", \.folder, indexed: true).referring(to: VaultFolder.self, whenDeleted: .cascade)
    Plain("created", \.created)
    Sealed("title", \.title)
    Sealed("domain", \.domain).revealingEquality(ignoringCase: true)
    Sealed("user", \.user)
    Sealed("password", \.password)
    Sealed("notes", \.notes)
  }

  init() {}

  /// The account of a number, as the peer makes it.
  init(_ number: Int, in folder: Int) {
    id = NumberedNote.id(number)
    self.folder = VaultCommand.id(of: folder)
    created = Date(timeIntervalSince1970: Double(number))
    (title, domain) = ("Title of account \(number)", "Host\(number % 1000).example.org")
    (user, password) = ("user\(number)@example.org", "password number \(number)")
    notes = String(repeating: "n", count: 200)
  }
}

/// Whether a server knows an account.
private struct VaultState: Record {
  var id = RecordID()
  var account = RecordID()
  var changed = Date(timeIntervalSince1970: 0)
  var isSent = false
  static let schema = Schema<VaultState>("state") {
    Plain("account", \.account, indexed: true).referring(to: VaultAccount.self, whenDeleted: .cascade)
    Plain("changed", \.changed, indexed: true)
    Plain("isSent", \.isSent)
  }

  init() {}

  init(of number: Int) {
    (id, account) = (NumberedNote.id(number + 1_000_000), NumberedNote.id(number))
    changed = Date(timeIntervalSince1970: Double(number))
  }
}

/// The same on both, in turns: the medians of the rounds, and of the rounds' ratios.
struct VaultCommand {
  static let usage = "notelog-bench vault [--rounds R] [--json]"
  private static let (folders, accountsOfFolder) = (20, 100)
  private static let credential = Credential.key((0..<32).map { UInt8($0) })

  var rounds = 9
  var isJSON = false

  init(_ arguments: inout ArraySlice<String>) throws {
    while let argument = arguments.popFirst() {
      switch argument {
      case "--rounds": rounds = try NotesCommand.number(&arguments, argument)
      case "--json": isJSON = true
      default: throw Failure("unknown argument \(argument)\nusage: \(Self.usage)")
      }
    }
  }

  fileprivate static func id(of folder: Int) -> RecordID { NumberedNote.id(folder + 2_000_000) }

  func run() throws {
    let scratch = FileManager.default.temporaryDirectory.appending(path: "notelog-bench-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: scratch) }
    let sides: [any VaultSide] = [OurVault(at: scratch.path + "/notelog"), SQLiteVault(at: scratch.path)]
    for side in sides {
      try side.open()
      for folder in 0..<Self.folders {
        try side.fill(folder, first: folder * Self.accountsOfFolder, count: Self.accountsOfFolder)
      }
      // What is asked for first makes indexes: that is not in the figures, but in those of the next opening.
      _ = try side.find("host1.example.org")
      try side.close()
    }
    waitForDisk()
    var taken: [[String: Double]] = sides.map { _ in [:] }
    var ratios: [String: [Double]] = [:]
    var all: [[String: [Double]]] = sides.map { _ in [:] }
    for round in 0..<rounds {
      for index in round % 2 == 0 ? [0, 1] : [1, 0] { taken[index] = try measure(sides[index], round) }
      for (name, time) in taken[0] {
        ratios[name, default: []].append(time / (taken[1][name] ?? .nan))
        for index in sides.indices { all[index][name, default: []].append(taken[index][name] ?? .nan) }
      }
    }
    func median(_ values: [Double]?) -> Double { values.map { $0.sorted()[$0.count / 2] } ?? .nan }
    for name in ratios.keys.sorted() {
      for (index, engine) in ["notelog", "sqlite"].enumerated() {
        var figure = Figure(
          engine: engine, workload: "vault: " + name, value: median(all[index][name]), unit: "ms")
        if index == 0 { figure.counts = [("ofSQLite", median(ratios[name]))] }
        print(
          isJSON ? figure.json : "\(engine.padding(toLength: 8, withPad: " ", startingAt: 0)) \(figure.row)")
      }
    }
  }

  /// Milliseconds of each thing that is asked of a vault.
  private func measure(_ side: any VaultSide, _ round: Int) throws -> [String: Double] {
    var times: [String: Double] = [:]
    func time(_ name: String, _ repeats: Int = 1, _ body: (Int) throws -> Void) throws {
      let start = nowNanoseconds()
      for turn in 0..<repeats { try body(turn) }
      times[name] = Double(nowNanoseconds() - start) / 1e6 / Double(repeats)
    }
    func find(_ number: Int) throws {
      // Two accounts have this domain, each with a title, a user name and a password.
      let expected = [number, number + 1000].map { 3 * "\($0)".count + 17 + 16 + 16 }.reduce(0, +)
      guard try side.find("HOST\(number).example.org") == expected else {
        throw Failure("not what was written")
      }
    }
    try time("open and find a domain") { _ in
      try side.open()
      try find(round * 7 + 1)
    }
    try time("find a domain's accounts", 200) { try find(($0 * 37 + round) % 1000) }
    try time("list 2,000 titles", 5) { _ in
      let expected = (0..<2000).reduce(0) { $0 + "\($1)".count + 17 }
      guard try side.titles() == expected else {
        throw Failure("titles are not what was written")
      }
    }
    try time("put an account and its metadata", 50) { try side.put(($0 * 37 + round) % 2000) }
    try side.fill(Self.folders + round, first: 10_000 + round * 100, count: Self.accountsOfFolder)
    try time("delete a folder of 100 accounts") { _ in try side.delete(Self.folders + round) }
    try side.close()
    return times
  }

  /// The folder of an account.
  fileprivate static func folder(of number: Int) -> Int { number / accountsOfFolder }

  /// What is measured of either.
  private protocol VaultSide: AnyObject {
    func open() throws
    func close() throws
    func fill(_ folder: Int, first: Int, count: Int) throws
    func put(_ number: Int) throws
    func find(_ domain: String) throws -> Int
    func titles() throws -> Int
    func delete(_ folder: Int) throws
  }

  private final class OurVault: VaultSide {
    let path: String
    var opened: Store?

    init(at path: String) { self.path = path }

    private func store() throws -> Store {
      guard let opened else { throw Failure("the vault is closed") }
      return opened
    }

    func open() throws { opened = try Store.openOrCreate(at: path, unlocking: VaultCommand.credential) }

    func close() throws {
      try opened?.close()
      opened = nil
    }

    func fill(_ folder: Int, first: Int, count: Int) throws {
      var record = VaultFolder()
      (record.id, record.name) = (VaultCommand.id(of: folder), "Folder")
      _ = try store().write { tx in
        try tx.put(record)
        for number in first..<first + count {
          try tx.put(VaultAccount(number, in: folder))
          try tx.put(VaultState(of: number))
        }
      }
    }

    func put(_ number: Int) throws {
      _ = try store().write { tx in
        try tx.put(VaultAccount(number, in: VaultCommand.folder(of: number)))
        try tx.put(VaultState(of: number))
      }
    }

    func find(_ domain: String) throws -> Int {
      let found = try store().query(VaultAccount.self).where(\.domain, is: domain, ignoringCase: true)
      return try found.entries().reduce(0) { sum, account in
        try sum + account.title.utf8.count + account.user.utf8.count + account.password.utf8.count
      }
    }

    func titles() throws -> Int {
      try store().query(VaultAccount.self).entries().reduce(0) { try $0 + $1.title.utf8.count }
    }

    func delete(_ folder: Int) throws {
      _ = try store().write { tx in try tx.delete(VaultFolder.self, VaultCommand.id(of: folder)) }
    }
  }

  @safe private final class SQLiteVault: VaultSide {
    let path: String
    // SAFETY (of all below): it is open from `open` to `close`, on one thread.
    private var vault: OpaquePointer?

    init(at path: String) { self.path = path }

    func open() throws {
      var message = [CChar](repeating: 0, count: 256)
      // SAFETY: the message has the room that it may take.
      unsafe vault = unsafe vaultOpen(path, &message)
      if unsafe vault == nil {
        throw Failure(
          String(decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self))
      }
    }

    func close() throws {
      unsafe vaultClose(vault)
      unsafe vault = nil
    }

    private func check(_ isDone: Bool) throws { if !isDone { throw Failure("SQLite refuses") } }

    func fill(_ folder: Int, first: Int, count: Int) throws {
      try check(unsafe vaultFill(vault, folder, first, count))
    }

    func put(_ number: Int) throws {
      try check(unsafe vaultPut(vault, VaultCommand.folder(of: number), number))
    }

    func find(_ domain: String) throws -> Int { unsafe vaultFind(vault, domain) }

    func titles() throws -> Int { unsafe vaultTitles(vault) }

    func delete(_ folder: Int) throws { try check(unsafe vaultDeleteFolder(vault, folder)) }
  }
}
