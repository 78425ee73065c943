// Telling of transactions as they become visible, in their order: FORMAT.md §21.2, INV-T2.

import NotelogFormat
import NotelogBase
import Synchronization

/// Who is told of each transaction once it is visible, before any later one is.
final class Watch: Sendable {
  /// Takes the sequence numbers of transactions and the headers of what they wrote and deleted: of one, or of
  /// several where nobody can tell any longer what they changed, and then nothing. Each number is higher than
  /// those before. It must return soon, and not use the journal.
  typealias Watcher = @Sendable (ClosedRange<UInt64>, [FrameHeader]?) -> Void

  /// One function or none: by itself it would be wrapped in another each time that it is reached under the
  /// lock, for ever more of them to go through.
  private let told = Lock<[Watcher]>([])
  private let watched = Atomic(false)

  /// Has a watcher told of what becomes visible from now on, in the place of another.
  func set(_ watcher: @escaping Watcher) {
    told.withLock { $0 = [watcher] }
    watched.store(true, ordering: .releasing)
  }

  func tell(_ sequence: UInt64, _ frames: [PendingFrame]) {
    guard watched.load(ordering: .acquiring) else { return }
    let changes = frames.compactMap { $0.header.kind.isVersion ? $0.header : nil }
    if !changes.isEmpty { told.withLock { $0.first }?(sequence...sequence, changes) }
  }

  /// Tells that transactions with these numbers went by, which can't be told one by one.
  func tellGap(_ sequences: ClosedRange<UInt64>) { told.withLock { $0.first }?(sequences, nil) }
}
