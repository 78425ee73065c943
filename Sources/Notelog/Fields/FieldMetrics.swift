// How many sealed fields were opened.

import NotelogBase
import Synchronization

/// Counts what was opened, so that a test can say that nothing else was.
public final class FieldMetrics: Sendable {
  /// The counts of some of the threads, on a cache line of their own: threads that open fields side by side don't pull
  /// one line to and fro.
  private struct Share: ~Copyable {
    let fields = Atomic<Int>(0)
    let bytes = Atomic<Int>(0)
    private let padding = InlineArray<14, UInt64>(repeating: 0)
  }

  private let shares: InlineArray<8, Share>

  init() { shares = InlineArray { _ in Share() } }

  /// How many sealed fields were opened.
  public var fieldsOpened: Int {
    shares.indices.reduce(0) { $0 + shares[$1].fields.load(ordering: .relaxed) }
  }

  /// How many bytes of plaintext they had, padding included.
  public var bytesOpened: Int {
    shares.indices.reduce(0) { $0 + shares[$1].bytes.load(ordering: .relaxed) }
  }

  func count(_ byteCount: Int) {
    let share = ThreadNumber.current & 7
    shares[share].fields.add(1, ordering: .relaxed)
    shares[share].bytes.add(byteCount, ordering: .relaxed)
  }

  /// Counts a chunk of a large value, which is counted as a field once.
  func countBytes(_ byteCount: Int) {
    shares[ThreadNumber.current & 7].bytes.add(byteCount, ordering: .relaxed)
  }
}
