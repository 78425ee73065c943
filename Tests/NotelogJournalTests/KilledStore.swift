// A store that was not closed, with segments behind its checkpoint, for tests that damage it.

@testable import NotelogBase
@testable import NotelogStorage
@testable import NotelogFormat
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

/// A store that a process was killed in the middle of: a checkpoint, and segments behind it, some of which
/// compaction made.
struct KilledStore {
  /// With few entries between checkpoints.
  static let options: JournalOptions = {
    var options = JournalOptions.small
    options.checkpointTail = 120
    return options
  }()

  let store: TemporaryStore
  let model: [ID16: [UInt8]]
  let recordCount: Int

  init(
    _ options: JournalOptions = .small, stepCount: Int = 900, recordCount: Int = 4000, compacts: Bool = true
  ) throws {
    store = try TemporaryStore()
    var model: [ID16: [UInt8]] = [:]
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

  func change(_ name: String, _ body: (inout [UInt8]) throws -> Void) throws {
    let url = URL(fileURLWithPath: store.storage.path + "/" + name)
    var bytes = Array(try Data(contentsOf: url))
    try body(&bytes)
    try Data(bytes).write(to: url)
  }

  /// The segment where the checkpoint ends.
  var coveredSegment: UInt32 {
    get throws {
      let file = try store.storage.open(FileName.index, .read)
      defer { file.close() }
      return try #require(try CheckpointHead(from: file)).covered.segment
    }
  }

  /// Damages the footer of a finished segment behind the checkpoint, and a frame's header where that is
  /// asked.
  func damageFooter(andFrame frameIsLost: Bool) throws {
    let number = try coveredSegment + 1
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
    #expect(journal.catalog.index.recordCount == model.count)
    #expect(try journal.records() == model.keys.sorted())
  }
}
