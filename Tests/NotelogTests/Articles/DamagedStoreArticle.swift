// The examples of the article "A damaged store: what now", line for line; its shell lines are run by
// DocumentTests.

import Foundation
import Notelog
import Testing

private struct Guest: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Guest>("guest") { Plain("name", \.name) }
}

@Suite struct DamagedStoreArticle {
  func open(at path: String, unlocking credential: Credential) throws -> Store {
    do {
      return try Store.open(at: path, unlocking: credential)
    } catch let error as NotelogError where error.code == .damaged {
      // Something is lost that nobody can name: what is left can be read, and no more.
      var options = Store.Options()
      options.isReadOnly = true
      options.acceptsUnprovenDamage = true
      return try Store.open(at: path, unlocking: credential, options: options)
    }
  }

  /// What the article tells of a store: to people, and how many findings there are.
  private func told(of store: Store) -> (words: [String], findingCount: Int) {
    var (words, findingCount) = ([String](), 0)
    func tell(_ text: String) { words.append(text) }
    func log(_ text: String) { findingCount += 1 }
    let damage = store.damage
    switch damage.verdict {
    case .sound, .torn: break
    case .contained: tell("\(damage.lostRecordCount) records can't be read, all others are current.")
    case .unproven: tell("What is shown may be older than it was. It can't be changed.")
    }
    for finding in damage.findings { log("\(finding)") }
    return (words, findingCount)
  }

  private func query(_ store: Store) throws -> (all: Int, doubtful: Int) {
    @Sendable func log(_ text: String) {}
    let entries = try store.query(Guest.self).onDamage { finding in log("\(finding)") }.entries()
    let doubtful = entries.filter { $0.isPossiblyStale }
    return (entries.count, doubtful.count)
  }

  private func make(_ folder: TemporaryFolder) throws {
    let store = try folder.create()
    try store.putAll((1...3).map { Guest(name: "guest \($0)") })
    try store.close()
  }

  @Test func `a record that can't be read leaves the others current, and its store writable`() throws {
    let folder = try TemporaryFolder()
    try make(folder)
    let segment = URL(filePath: folder.path + "/000000000001.journal")
    var bytes = try Data(contentsOf: segment)
    bytes[try #require(bytes.lastRange(of: Data("guest 2".utf8))).lowerBound] ^= 1
    try bytes.write(to: segment)
    let store = try open(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(try query(store) == (2, 0))
    #expect(told(of: store) == (["1 records can't be read, all others are current."], 1))
    try store.write { tx in try tx.put(Guest(name: "guest 4")) }
    try store.close()
  }

  @Test func `a log without its end is read, marked, and not written to`() throws {
    let folder = try TemporaryFolder()
    try make(folder)
    let segment = folder.path + "/000000000001.journal"
    let bytes = try Data(contentsOf: URL(filePath: segment))
    // Without its close mark and the last commit.
    try bytes.prefix(bytes.count - 200).write(to: URL(filePath: segment))
    let store = try open(at: folder.path, unlocking: TemporaryFolder.key)
    #expect(told(of: store).words == ["What is shown may be older than it was. It can't be changed."])
    let shown = try query(store)
    #expect(shown.all == shown.doubtful)
    #expect(throws: NotelogError(.readOnly, "")) { try store.write { tx in try tx.put(Guest()) } }
    #expect(store.info().verdict == .unproven)
    try store.close()
    #expect(try Store.verify(at: folder.path).verdict == .unproven)
  }
}
