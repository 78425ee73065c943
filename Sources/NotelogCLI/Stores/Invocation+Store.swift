// Opening the store that a command line names.
import Foundation
import Notelog

extension Invocation {
  /// What `--segment-size` asks for.
  func segmentByteCount() throws(ToolError) -> Int? {
    try byteCount(of: .segmentSize, in: Store.Options.segmentByteCounts)
  }

  /// Whether a command shows or writes sealed content.
  enum KeyUse {
    /// It does: a key that was not given is asked for.
    case required
    /// It can do without: a key is used if it was given, and never asked for.
    case ifGiven
  }

  /// Opens the store, unlocks it, runs `body`, and closes it in order. What is damaged in it is said at the command's end. A
  /// command that only reads shows what is left of a store that lost something nobody can name.
  func withStore<Result>(
    _ keyUse: KeyUse, readOnly: Bool = false, _ body: (Store) throws -> Result
  ) throws(ToolError) -> Result {
    try checkPath()
    var options = Store.Options()
    options.isReadOnly = readOnly
    options.acceptsUnprovenDamage = readOnly
    options.examinesAllSegments = true
    options.segmentByteCount = try segmentByteCount()
    options.compaction = .automatic
    options.patience = .seconds(try number(of: .wait, in: 0...86_400) ?? 0)
    // What stands in the way of opening is said before a password is asked for.
    let opened = try asking(missing: noStore) { try Store.open(at: store, options: options) }
    let result: Result
    do {
      let secrets = SecretSource(self)
      if let credential = keyUse == .required ? try secrets.require() : try secrets.given() {
        try opened.unlock(credential)
      }
      result = try body(opened)
    } catch {
      damage.note(opened.damage)
      // The first error is the one to report.
      try? opened.close()
      throw ToolError(any: error)
    }
    damage.note(opened.damage)
    try asking { try opened.close() }
    return result
  }

  /// The work that `--scrypt-log-n` asks for, with a warning where it is little.
  func passwordWork(_ console: Console) throws(ToolError) -> UInt8? {
    let work = try number(of: .scryptLogN, in: UInt8(14)...18)
    if let work, work < 16 {
      console.say("warning", "a password is cheap to guess with --scrypt-log-n below 16")
    }
    return work
  }

  /// Unlocks a store that is still locked, where one of the fields is sealed: what is plain needs no key.
  func unlock(
    _ store: Store, toRead names: [String], of collection: DynamicCollection
  ) throws(ToolError) {
    let isSealed = collection.fields.contains { $0.isSealed && names.contains($0.name) }
    guard isSealed, !store.isUnlocked else { return }
    let credential = try SecretSource(self).require()
    try asking { try store.unlock(credential) }
  }

  /// Says in plain words why a path is not a store's, before anything is opened.
  func checkPath() throws(ToolError) {
    let place = URL(filePath: store).resolvingSymlinksInPath()
    guard let type = try? place.resourceValues(forKeys: [.isDirectoryKey]) else { throw noStore }
    guard type.isDirectory == true else {
      throw ToolError(.noStore, "'\(store)' is not a folder, and so no store")
    }
  }

  var noStore: ToolError {
    ToolError(.noStore, "there is no store at '\(store)'", hint: "'notelog init \(store)' makes one")
  }
}

extension Store {
  /// Says which records can't be shown because the schema of their collection is lost.
  ///
  /// - Returns: Whether there is none.
  func hasAllSchemas(_ console: Console) throws(ToolError) -> Bool {
    let lost = try asking { try collectionsWithoutSchema() }
    for (collection, count) in lost.sorted(by: { $0.key < $1.key }) {
      console.say(
        "error", "\(counted(count, "record")) of collection \(collection) cannot be shown: the schema is lost"
      )
    }
    return lost.isEmpty
  }

  /// The collection named on the command line, or the only one.
  func collection(given name: String?) throws(ToolError) -> DynamicCollection {
    let all = collections
    if let name {
      if let found = all.first(where: { $0.name == name }) { return found }
      let near = Suggestion.nearest(to: name, among: all.map(\.name))
      throw ToolError(
        .no, "the store has no collection '\(name)'", hint: near.map { "did you mean '\($0)'?" })
    }
    guard let only = all.first, all.count == 1 else {
      let names = all.map(\.name).joined(separator: ", ")
      throw .usage("which collection is meant?", hint: "the store has: \(names.isEmpty ? "none" : names)")
    }
    return only
  }

  /// The record with an id, in whichever collection it is.
  func entry(_ id: RecordID) throws(ToolError) -> DynamicEntry {
    try asking {
      for collection in collections {
        if let entry = try collection.get(id) { return entry }
      }
      if let lost = try collectionsWithoutSchema().keys.min() {
        throw ToolError(
          .damage,
          "no record \(id.shown) can be shown; it may be one of collection \(lost), whose schema is lost")
      }
      throw ToolError(.no, "there is no record \(id.shown)")
    }
  }
}
