// Whole stores that were put back, cut or parted from others: what a head tells, and nothing else does.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct HeadTests {
  private static let older = "the store is older than it was"
  private static let other = "the store is another copy than the one that was seen"
  private static let gone = "what was written here up to revision"

  /// Writes to a disk as somebody with a head does.
  ///
  /// - Returns: The head afterwards.
  @discardableResult
  private static func write(
    _ disk: SimulatedDisk, _ head: StoreHead?, _ titles: String...
  ) throws -> StoreHead {
    var options = EvidenceTests.options
    options.head = head
    let store = try Store.open(in: disk, unlocking: AttackedStore.key, options: options)
    defer { try? store.close() }
    for title in titles { try store.putAll([Note(title: title)]) }
    return try store.head()
  }

  /// What an audit, and the first write, say of a disk: the same.
  private static func fault(_ disk: SimulatedDisk, _ head: StoreHead?) throws -> String? {
    let store = try AttackedStore.open(disk, head)
    defer { try? store.close() }
    let found = try store.audit().findings.map(\.message)
    #expect(found.count <= 1)
    var refusal: String?
    do { try store.putAll([Note(title: "more")]) } catch let error as NotelogError { refusal = error.message }
    #expect((refusal == nil) == found.isEmpty)
    if let refusal { #expect(refusal.contains(words(found[0]))) }
    #expect(try !store.query(Note.self).entries().isEmpty)
    return found.first.map(words)
  }

  private static func words(_ message: String) -> String { String(message.dropFirst("evidence: ".count)) }

  @Test func `a head says what it is, and comes back from its text`() throws {
    let store = try AttackedStore()
    let head = try Self.write(store.disk, nil, "new")
    #expect(head.description.hasPrefix("H1") && head.own == head.seen)
    #expect(try StoreHead(text: head.description) == head)
    #expect(try Self.fault(store.disk, head) == nil)
    // Of another store.
    #expect(try Self.fault(try AttackedStore().disk, head) == "the head is another store's")
  }

  @Test func `who has a head takes the place of its writer, and a head from before passes still`() throws {
    let store = try AttackedStore()
    let first = try Self.write(store.disk, nil, "one")
    var head = first
    for _ in 0..<20 { head = try Self.write(store.disk, head, "more") }
    let opened = try AttackedStore.open(store.disk)
    let state = try #require(try opened.evidence.withLock { $0 }?.load().state)
    try opened.close()
    // Besides, whoever made the store.
    #expect(state.writers.count == 2)
    #expect(state.writers.contains { $0.id == head.writer && $0.last == head.own })
    #expect(state.othersLast > first.own && state.othersLast < head.own)
    #expect(try Self.fault(store.disk, first) == nil)
  }

  @Test func `a store that was put back to an earlier moment is sound, but for a head`() throws {
    let store = try AttackedStore()
    let (before, earlier) = (store.disk.copy(), try Self.write(store.disk, nil, "one"))
    let head = try Self.write(store.disk, earlier, "two")
    #expect(try Self.fault(store.disk, earlier) == nil && Self.fault(store.disk, head) == nil)
    // Keyring and all.
    #expect(try Self.fault(before, nil) == nil)
    for head in [earlier, head] { #expect(try Self.fault(before, head)?.hasPrefix(Self.older) == true) }
  }

  @Test func `a log that was cut at a commit looks like a crash, but for a head`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: AttackedStore.key, options: EvidenceTests.options)
    for title in ["one", "two", "three"] { try store.putAll([Note(title: title)]) }
    let head = try store.head()
    try store.close()
    let name = try #require(disk.fileNames.last { FileName.segmentNumber($0) != nil })
    let bytes = try #require(disk.contents(name))
    let header = try SegmentHeader(bytes.rawSpan, at: 0)
    var walk = SegmentWalk(
      try disk.openFile(name, .read), salt: SegmentSalt(header.salt), end: bytes.count)
    var ends: [Int] = []
    while let frame = try walk.advance() { if frame.kind == .commit { ends.append(walk.next) } }
    var sound = 0
    for end in ends.suffix(3).dropLast() {
      let cut = disk.copy()
      cut.replace(name, with: Array(bytes[..<end]))
      for derived in ["index", "lock"] { cut.replace(derived, with: nil) }
      let opened = try AttackedStore.open(cut)
      if try opened.audit().isSound { sound += 1 }
      try opened.close()
      #expect(try Self.fault(cut, head)?.hasPrefix(Self.older) == true)
    }
    #expect(sound == 2)
  }

  @Test func `a store that was put back and used on is told by whoever's writes are gone`() throws {
    let store = try AttackedStore()
    let head = try Self.write(store.disk, nil, "seen")
    let fork = store.disk.copy()
    let mine = try Self.write(store.disk, head, "mine")
    // Somebody else goes on from before, and further.
    try Self.write(fork, nil, "theirs")
    #expect(try Self.fault(fork, mine) == Self.other)
    try Self.write(fork, nil, "theirs", "longer")
    #expect(try Self.fault(fork, mine)?.hasPrefix(Self.gone) == true)
    // Who only saw what is there still can't tell.
    #expect(try Self.fault(fork, head) == nil)
    // Nor who never wrote.
    let reader = StoreHead(store: head.store, writer: 9, seen: mine.seen, own: 0, tag: mine.tag)
    #expect(try Self.fault(fork, reader) == nil)
    // A writer that was pushed out of the list is not missed.
    var last: StoreHead?
    for _ in 0..<EvidenceState.writersMax + 1 { last = try Self.write(store.disk, nil, "another") }
    #expect(try Self.fault(store.disk, mine) == nil && Self.fault(store.disk, last) == nil)
  }

  /// Whoever has the key may number their transactions as they like.
  @Test func `a head of a store that went far ahead refuses all others until it is forgotten or accepted`()
    throws
  {
    let store = try AttackedStore()
    let (before, head) = (store.disk.copy(), try Self.write(store.disk, nil, "one", "two"))
    #expect(try Self.fault(before, head)?.hasPrefix(Self.older) == true)
    #expect(try Self.fault(before, nil) == nil)
    let opened = try AttackedStore.open(before, head)
    #expect(throws: NotelogError(.tampered, "")) { try opened.head() }
    try opened.acceptEvidence()
    try opened.putAll([Note(title: "new")])
    let accepted = try opened.head()
    #expect(accepted.writer != head.writer)
    try opened.close()
  }

  @Test func `whoever deletes everything is told from nobody`() throws {
    let store = try AttackedStore()
    let head = try Self.write(store.disk, nil, "one")
    #expect(throws: NotelogError(.notFound, "")) { try AttackedStore.open(SimulatedDisk(), head) }
  }
}
