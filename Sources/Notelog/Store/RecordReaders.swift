// The readers of an open store's record types, found without waiting.

import NotelogBase
import Synchronization

/// For each record type in use, what reads its records; forgotten when a stored schema changes.
final class RecordReaders: Sendable {
  private let byType = ReadMostly<[ObjectIdentifier: any AnyObject & Sendable]>([:])
  private let changeCount = Atomic<UInt64>(0)

  /// Counts the changes of stored schemas: what was resolved at another epoch is to be resolved again.
  var epoch: UInt64 { changeCount.load(ordering: .acquiring) }

  /// The reader of a record type, if one was made that still holds.
  func find<R: Record>(_ type: R.Type) -> RecordReader<R>? {
    byType.read { $0[ObjectIdentifier(type)] } as? RecordReader<R>
  }

  func keep<R: Record>(_ reader: RecordReader<R>) {
    byType.change { $0[ObjectIdentifier(R.self)] = reader }
  }

  func removeAll() {
    byType.change { $0 = [:] }
    changeCount.add(1, ordering: .acquiringAndReleasing)
  }
}
