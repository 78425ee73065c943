// Sorted footers whose blocks check, and that say what can't be: FORMAT.md §31.

@testable import NotelogJournal
import NotelogTestSupport
import Testing

@Suite struct SortedFooterForgeryTests {
  /// Blocks that check, and say what can't be: a head is not taken, and for entries the footer is read.
  @Test func `a sorted footer that says what can't be is passed over`() throws {
    let killed = try KilledStore(KilledStore.options, compacts: false)
    let name = try #require(try killed.sortedFooters.dropFirst().first)
    let file = try killed.store.storage.open(name, .update)
    defer { file.close() }
    var sound = Buffer()
    try sound.fill(try file.byteCount(), from: file, at: 0)
    let head = try #require(try SortedFooterHead(from: file))
    /// Writes the file with some bytes changed, and sealed again.
    func write(_ changes: [(place: Int, bytes: [UInt8])]) throws {
      var buffer = Buffer()
      buffer.append(sound.bytes)
      for change in changes {
        var bytes = buffer.mutableBytes
        bytes.copy(change.bytes.rawSpan, at: change.place)
      }
      CheckpointBlock.seal(&buffer, salt: head.salt, first: 0)
      try file.writeAll(buffer.bytes, at: 0)
    }
    let max32: [UInt8] = [255, 255, 255, 255]
    let heads: [(String, [(Int, [UInt8])])] = [
      ("magic", [(0, [0])]), ("version", [(8, [2])]), ("no fingerprint bits", [(10, [0, 0])]),
      ("fingerprint bits", [(10, [65, 0])]), ("group bits", [(12, [9])]), ("entry count", [(68, max32)]),
      ("listed count", [(76, [124, 0])]), ("no directory", [(78, [0, 0])]), ("reserved", [(81, [1])]),
      ("group", [(4096, [UInt8(1 << head.groupBits)])]),
      ("listed sequence", [(76, [1, 0]), (128 + 16, max32 + max32)]),
      ("listed presence", [(76, [1, 0]), (128 + 24, [2])]),
      ("listed reserved", [(76, [1, 0]), (128 + 25, [1])]),
    ]
    for (word, changes) in heads {
      try write(changes.map { (place: $0.0, bytes: $0.1) })
      #expect(try SortedFooterHead(from: file) == nil, "\(word)")
    }
    try write([(place: 16, bytes: [9])])
    #expect(try SortedFooterHead(from: file) != nil)
    try check(killed, sortedFooterOf: name, isTaken: false)
    let entry = head.firstEntryBlock * 4096
    let entries: [[(Int, [UInt8])]] = [
      [(entry + 16, max32 + max32)], [(entry + 24, max32)], [(entry + 24, [0, 0, 0, 0])],
      [(entry + 28, max32)], [(entry + 4064, [255, 255])],
    ]
    for changes in entries {
      try write(changes.map { (place: $0.0, bytes: $0.1) })
      try check(killed, sortedFooterOf: name, isTaken: true)
    }
  }

  private func check(_ killed: KilledStore, sortedFooterOf name: String, isTaken: Bool) throws {
    let journal = try Journal.open(in: killed.store.storage, options: KilledStore.options)
    #expect(journal.report.damages == [] && journal.report.checkpoint == .used)
    let segment = try #require(FileName.sortedFooterNumber(name))
    try killed.check(journal)
    // One that is not taken is made again some time.
    var waiting: [UInt32] = []
    while let number = journal.catalog.unsorted.next() { waiting.append(number) }
    #expect(waiting.contains(segment) == !isTaken)
    try journal.abandon()
  }
}
