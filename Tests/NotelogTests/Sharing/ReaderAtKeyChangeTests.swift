// Readers at each system call of a change of the keyring: FORMAT.md 21.4 and 25, "Readers".

import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

/// What changes the keyring.
enum KeyringChange: CaseIterable {
  case newKey, credential, rotation, root

  func run(in store: Store, _ old: Credential, _ new: Credential) throws {
    switch self {
    case .newKey: try store.createKey("another", .whenUnlocked)
    case .credential: try store.changeCredential(old, to: new)
    case .rotation: #expect(try store.rotate("personal").isFinished)
    case .root: try store.rekey(old, to: new)
    }
  }
}

@Suite struct ReaderAtKeyChangeTests {
  private static let old = Notelog.Credential.key([UInt8](repeating: 42, count: 32))
  private static let new = Notelog.Credential.key([UInt8](repeating: 43, count: 32))
  private static let notes = (0..<12).map { Note(title: "title \($0)", body: "body \($0)") }

  /// The store as somebody opens it now who knows which credential is in force.
  private static func open(_ disk: SimulatedDisk) throws -> (store: Store, credential: Notelog.Credential) {
    var options = Store.Options()
    options.isReadOnly = true
    do { return (try Store.open(in: disk, unlocking: old, options: options), old) } catch {
      guard error.code == .wrongPassword else { throw error }
      return (try Store.open(in: disk, unlocking: new, options: options), new)
    }
  }

  /// All values open; where the root is another one by now, they may be locked for who had the former.
  private static func check(_ store: Store, _ place: String, mayBeLocked: Bool = false) throws {
    for note in notes {
      do {
        let found = try #require(try store.get(Note.self, note.id))
        let (title, body) = (try found.title, try found.body)
        #expect(title == note.title && body == note.body, "\(place)")
      } catch let error as NotelogError where error.code == .locked && mayBeLocked {}
    }
    #expect(try store.query(Note.self).count() == notes.count, "\(place)")
    #expect(store.damage.findings.isEmpty, "\(place): \(store.damage)")
  }

  /// What anybody finds who looks now.
  private static func lookAround(
    _ disk: SimulatedDisk, _ early: Store, _ place: String, _ isRoot: Bool
  ) throws {
    try early.refresh()
    try check(early, place, mayBeLocked: isRoot)
    let (store, credential) = try open(disk)
    try check(store, place)
    let verification = try Store.verify(in: disk, unlocking: credential)
    // Between the two files, one is older: that is no damage.
    let damages = verification.findings.filter(\.isDamage)
    #expect(damages.isEmpty && verification.verdict == .sound, "\(place): \(verification)")
    #expect(verification.openedCount == 2 * notes.count, "\(place)")
    let (copy, restored) = (SimulatedDisk(), SimulatedDisk())
    #expect(try Shipper(disk, to: copy.archive).ship().findings.isEmpty, "\(place)")
    #expect(try Store.restore(copy.archive, to: restored, unlocking: credential).findings.isEmpty, "\(place)")
    let again = try open(restored).store
    try check(again, place)
    try again.close()
    try store.close()
  }

  @Test(arguments: KeyringChange.allCases)
  func `nobody finds damage, and every value opens, at any call of a change of the keyring`(
    _ change: KeyringChange
  ) throws {
    let disk = SimulatedDisk()
    let writer = try Store.create(in: disk, unlocking: Self.old, options: Store.Options())
    try writer.putAll(Self.notes)
    let early = try Self.open(disk).store
    let looks = Lock((count: 0, isLooking: false))
    disk.afterEachCall { call, name in
      guard ![.read, .stat, .readdir].contains(call) else { return }
      let isLooking = looks.withLock { looks in
        defer { looks.isLooking = true }
        return looks.isLooking
      }
      if isLooking { return }
      let place = "\(change), after \(call) of \(name)"
      do { try Self.lookAround(disk, early, place, change == .root) } catch {
        Issue.record("\(place): \(error)")
      }
      looks.withLock { $0 = ($0.count + 1, false) }
    }
    defer { disk.afterEachCall(nil) }
    try change.run(in: writer, Self.old, Self.new)
    disk.afterEachCall(nil)
    #expect(looks.withLock { $0.count } > 5)
    try Self.lookAround(disk, early, "\(change), at its end", change == .root)
    try early.close()
    try writer.close()
  }
}
