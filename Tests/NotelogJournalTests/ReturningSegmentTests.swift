// Segments that were missing when a store was recovered, and are there again: FORMAT.md §12.

@testable import NotelogStorage
import Foundation
import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct ReturningSegmentTests {
  /// INV-R11: while the head is missing nobody knows which sequence numbers were given out. Nothing is
  /// written then, so that none is given out twice; with the head back, the store goes on as if nothing had
  /// been.
  @Test func `sequence numbers of a head that comes back are not used again`() throws {
    let store = try TemporaryStore()
    let first = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    for number in 0..<40 { try first.put(key(number), [UInt8](repeating: 1, count: 2000), .flushed) }
    for number in 0..<3 { try first.put(key(number), [4], .flushed) }
    // What compaction makes has a higher number than the head.
    #expect(try first.compact().addedSegments > 0)
    let next = first.log.state.withLock { $0.nextSequence }
    let head = try #require(first.log.state.withLock { $0.head?.segment.name })
    try first.abandon()
    let url = URL(fileURLWithPath: store.storage.path + "/" + head)
    let bytes = try Data(contentsOf: url)
    try FileManager.default.removeItem(at: url)
    let names = Set(try store.storage.names(in: ""))
    #expect(throws: NotelogError(.damaged, "")) { try Journal.open(in: store.storage, options: .small) }
    #expect(Set(try store.storage.names(in: "")) == names)
    try bytes.write(to: url)
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.verdict == .sound && again.log.state.withLock { $0.nextSequence } >= next)
    try again.abandon()
  }
}
