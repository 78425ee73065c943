// A store with sorted footers that was not closed, for tests that damage it.

@testable import NotelogBase
@testable import NotelogStorage
@testable import NotelogFormat
import Foundation
@testable import NotelogJournal
import NotelogTestSupport
import Testing

/// A store that a process was killed in the middle of: a checkpoint, sorted footers behind it, and some of them of segments
/// that compaction made.
struct KilledStore {
  /// With few entries between checkpoints and sorted footers.
  static let options: JournalOptions = {
    var options = JournalOptions.small
    options.unsortedTail = 120
    options.checkpointTail = 120
    return options
  }()

  let store: TemporaryStore
  let model: [RecordKey: [UInt8]]
  let recordCount: Int

  init(
    _ options: JournalOptions = .small, stepCount: Int = 900, recordCount: Int = 4000, compacts: Bool = true
  ) throws {
    store = try TemporaryStore()
    var model: [RecordKey: [UInt8]] = [:]
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<recordCount {
      try journal.put(key(number), [1, 2, 3], .buffered)
      model[key(number)] = [1, 2, 3]
    }
    try journal.checkpoint()
    var generator = SeededGenerator(seed: 7)
    for step in 0..<stepCount {
      // Half of them are new.
      let id = key(Int.random(in: 0..<2 * recordCount, using: &generator))
      let body = (0..<Int.random(in: 0..<60, using: &generator)).map {
        UInt8(truncatingIfNeeded: step &+ $0)
      }
      if step % 7 == 3 {
        try journal.delete(id, .flushed)
        model[id] = nil
      } else {
        try journal.put(id, body, .flushed)
        model[id] = body
      }
      if step == stepCount / 2, compacts {
        var budget = WorkBudget.unlimited
        budget.byteCount = 20_000
        _ = try journal.compact(budget)
      }
    }
    try journal.abandon()
    self.model = model
    self.recordCount = recordCount
  }

  var sortedFooters: [String] {
    get throws {
      try store.storage.names(in: "").filter { FileName.sortedFooterNumber($0) != nil }.sorted()
    }
  }

  func change(_ name: String, _ body: (inout [UInt8]) throws -> Void) throws {
    let url = URL(fileURLWithPath: store.storage.path + "/" + name)
    var bytes = Array(try Data(contentsOf: url))
    try body(&bytes)
    try Data(bytes).write(to: url)
  }

  /// Damages a sorted footer in all blocks of entries, the footer that it stands for, and a frame's header where that is asked.
  func damageFooters(andFrame frameIsLost: Bool) throws {
    let name = try #require(try sortedFooters.dropFirst().first)
    let number = try #require(FileName.sortedFooterNumber(name))
    try change(name) { bytes in
      for block in 2..<bytes.count / 4096 { bytes[block * 4096] ^= 1 }
    }
    try change(FileName.segment(number)) { bytes in
      let footerStart = Int(
        bytes.rawSpan.load(UInt32.self, at: bytes.count - Layout.trailerByteCount))
      if frameIsLost {
        let entries = footerStart + Layout.frameHeaderByteCount + Layout.footerPrefixByteCount
        let tenth = FooterEntry(bytes.rawSpan, at: entries + 10 * Layout.footerEntryByteCount)
        let listed = try #require(tenth)
        for place in listed.offset..<listed.offset + Layout.frameHeaderByteCount { bytes[place] ^= 1 }
      }
      bytes[footerStart + 3] ^= 1
    }
  }

  func check(_ journal: Journal) throws {
    for number in 0..<2 * recordCount where try journal.body(of: key(number)) != model[key(number)] {
      Issue.record("record \(number) reads wrongly")
      return
    }
    #expect(journal.statistics.recordCount == model.count)
    #expect(try journal.records() == model.keys.sorted())
  }
}
