// What compaction remembers between its steps. FORMAT.md §13.

import NotelogConcurrency
import Synchronization

/// The state of compaction in an open journal.
final class Compactor: Sendable {
  struct State: ~Copyable, Sendable {
    /// A compaction that ran out of its budget.
    var unfinished: Compaction?
    /// Segments that are damaged: they are set aside, and stay as they are.
    var damaged: Set<UInt32> = []
    /// Replaced segments whose files are still there because a pin holds them, by what took their place.
    var deferred: [UInt32: UInt32] = [:]
    /// Whether the disk is full, and the reserve was given up: then only what little it holds can be written.
    var isTight = false
    /// The highest sequence number in each finished segment, as far as anybody asked.
    var lastSequences: [UInt32: UInt64] = [:]
  }

  /// One thread compacts at a time.
  private let isBusy = Monitor(false)
  let state = Lock(State())
  /// The bytes that compaction wrote since the journal was opened.
  let writtenByteCount = Atomic<Int>(0)
  /// The bytes that transactions brought since then.
  let storedByteCount = Atomic<Int>(0)
  /// The bytes written by transactions since somebody last looked whether compaction is due.
  private let unwatchedByteCount = Atomic<Int>(0)

  /// Waits for whoever compacts, and begins.
  func enter() { isBusy.withLock(when: { !$0 }) { $0 = true } }

  /// Begins if nobody compacts.
  func enterIfFree() -> Bool {
    isBusy.withLock { isBusy in
      defer { isBusy = true }
      return !isBusy
    }
  }

  /// Lets others compact.
  func leave() { isBusy.withLock { $0 = false } }

  /// Counts what a transaction wrote.
  ///
  /// - Returns: Whether it is time to look again whether compaction is due.
  func note(_ byteCount: Int, every interval: Int) -> Bool {
    storedByteCount.add(byteCount, ordering: .relaxed)
    guard unwatchedByteCount.add(byteCount, ordering: .relaxed).newValue >= interval else { return false }
    unwatchedByteCount.store(0, ordering: .relaxed)
    return true
  }

  /// Remembers segments that were replaced before and whose files are still there.
  func `defer`(_ replaced: [UInt32: UInt32]) { state.withLock { $0.deferred = replaced } }

  /// Gives up what was not finished.
  func abandon() {
    if let unfinished = state.withLock({ $0.unfinished.take() }) { unfinished.abandon() }
  }
}

extension Segment {
  /// The highest sequence number of its frames: its footer's header says so.
  func lastSequence() -> UInt64? {
    guard let entry else { return nil }
    var reader = SegmentReader(file, salt: salt, end: entry.byteCount)
    let trailerStart = entry.byteCount - Layout.trailerByteCount
    do throws(StorageError) {
      guard let trailer = Trailer(try reader.bytes(trailerStart..<entry.byteCount), at: 0),
        case .frame(let header) = try reader.frame(at: trailer.footerOffset), header.kind == .footer
      else { return nil }
      return header.sequence
    } catch { return nil }
  }
}

extension Examination {
  /// Segments whose files are there although a live compacted segment has taken their place, by the number of that.
  var replaced: [UInt32: UInt32] {
    var replaced: [UInt32: UInt32] = [:]
    for segment in survey.segments.values
    where segment.header.kind == .compacted && live[segment.number] != nil {
      for source in segment.header.sources
      where survey.segments[source.segment] != nil && live[source.segment] == nil {
        replaced[source.segment] = segment.number
      }
    }
    return replaced
  }
}
