// Damage in what is dead does not keep the rest from being compacted.

import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

private struct Page: Record {
  var id = RecordID()
  var scan: [UInt8] = []
  static let schema = Schema<Page>("page") { Sealed("scan", \.scan) }
}

@Suite struct DeadChunkTests {
  /// The bug: the chunk was looked up as a record that the index lacks, and no compaction came to its end any
  /// more.
  @Test func `a dead chunk that is damaged ends no compaction`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    var page = Page(scan: [UInt8](repeating: 7, count: 150_000))
    try store.putAll([page])
    page.scan = [1, 2, 3]
    try store.putAll([page])
    try store.close()
    let name = try #require(disk.fileNames.filter { $0.hasSuffix(".journal") }.max())
    var bytes = try #require(disk.contents(name))
    bytes[60_000] ^= 1
    disk.replace(name, with: bytes)
    let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    for _ in 0..<2 { try again.compact() }
    #expect(try again.get(Page.self, page.id)?.scan == [1, 2, 3])
    try again.close()
  }
}
