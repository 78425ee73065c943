// Credentials that open some keys only (SECURITY.md, A5).

import Testing

@testable import Notelog

/// A record that a support person may read a part of.
struct Visit: Record {
  var id = RecordID()
  var number = 0
  var notes = ""
  var diagnostics = ""
  static let schema = Schema<Visit>("visit") {
    Plain("number", \.number, indexed: true)
    Sealed("notes", \.notes, key: "notes")
    Sealed("diagnostics", \.diagnostics, key: "diagnostics")
  }
}

@Suite struct GrantTests {
  private static let support = Credential.key([UInt8](repeating: 77, count: 32))

  private func makeStore() throws -> (TemporaryFolder, Visit) {
    let folder = try TemporaryFolder()
    let visit = Visit(number: 5, notes: "private", diagnostics: "log lines")
    let store = try folder.create()
    try store.putAll([visit])
    try store.grant(["diagnostics"], to: Self.support)
    #expect(store.info().slots.map(\.grant) == [nil, ["diagnostics"]])
    try store.close()
    return (folder, visit)
  }

  @Test func `a grant opens its keys and no others, and changes nothing`() throws {
    let (folder, visit) = try makeStore()
    let store = try folder.open(Self.support)
    #expect(!store.isUnlocked)
    let entry = try #require(try store.get(Visit.self, visit.id))
    #expect(try entry.diagnostics == "log lines" && entry.number == 5)
    #expect(throws: NotelogError(.locked, "")) { try entry.notes }
    // Plain fields are everybody's who may write to the files; nothing is sealed, and no key changed.
    try store.write { tx in try tx.update(Visit.self, visit.id) { $0.set(\.number, 6) } }
    #expect(throws: NotelogError(.locked, "")) {
      try store.write { tx in try tx.update(Visit.self, visit.id) { $0.set(\.diagnostics, "forged") } }
    }
    #expect(throws: NotelogError(.locked, "")) { try store.addCredential(Self.support) }
    #expect(throws: NotelogError(.locked, "")) { try store.createKey("mine", .whenUnlocked) }
    #expect(throws: NotelogError(.locked, "")) { try store.grant(["notes"], to: Self.support) }
    #expect(throws: NotelogError(.locked, "")) { try store.rotate("diagnostics") }
    #expect(throws: NotelogError(.locked, "")) { try store.rekey(Self.support, to: Self.support) }
    #expect(throws: NotelogError(.locked, "")) { try store.removeCredential(Self.support) }
    #expect(throws: NotelogError(.locked, "")) {
      try store.changeCredential(Self.support, to: .key([UInt8](repeating: 1, count: 32)))
    }
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try store.get(Visit.self, visit.id)?.diagnostics }
    try store.close()
  }

  @Test func `a grant reads generations to come, and nothing once it was taken away`() throws {
    let (folder, visit) = try makeStore()
    var store = try folder.open()
    try store.rotate("diagnostics")
    let later = Visit(number: 7, notes: "private", diagnostics: "later")
    try store.putAll([later])
    try store.close()
    store = try folder.open(Self.support)
    #expect(try store.get(Visit.self, later.id)?.diagnostics == "later")
    #expect(try store.get(Visit.self, visit.id)?.diagnostics == "log lines")
    #expect(throws: NotelogError(.locked, "")) { try store.get(Visit.self, later.id)?.notes }
    try store.close()
    store = try folder.open()
    let slot = try #require(store.info().slots.last)
    try store.removeSlot(slot.number)
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.removeSlot(store.info().slots[0].number) }
    try store.close()
    #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open(Self.support) }
  }

  @Test func `a grant is of keys that are there, and not of keys for this device only`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.deviceSecret = .kept { _ in [UInt8](repeating: 9, count: 32) }
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try store.createKey("here", .whenUnlockedThisDeviceOnly)
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.grant(["here"], to: Self.support) }
    #expect(throws: NotelogError(.notFound, "")) { try store.grant(["nowhere"], to: Self.support) }
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.grant([], to: Self.support) }
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.grant(["here"], to: .password("")) }
    #expect(store.info().slots.count == 1)
    try store.close()
  }

  /// The last slot that unlocks the store must stay, whatever opens parts of it.
  @Test func `a grant does not count as a way to unlock the store`() throws {
    let (folder, _) = try makeStore()
    let store = try folder.open()
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.removeCredential(TemporaryFolder.key) }
    try store.close()
    try folder.open().close()
  }
}
