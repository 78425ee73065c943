// How much compaction may do at a time, and what it says of itself.

/// What one call of compaction may spend. What is not finished then goes on in the next call.
package struct CompactionBudget: Sendable {
  /// The bytes to copy, about.
  package var byteCount: Int
  /// Whether time is up; asked after each piece that was copied.
  package var isOver: @Sendable () -> Bool

  package init(byteCount: Int = .max, isOver: @escaping @Sendable () -> Bool = { false }) {
    self.byteCount = byteCount
    self.isOver = isOver
  }

  /// As long as it takes.
  package static var unlimited: CompactionBudget { CompactionBudget() }

  /// Until that much time has passed, give or take one piece.
  package static func lasting<C: Clock>(
    _ duration: C.Duration, on clock: C
  ) -> CompactionBudget where C.Instant: Sendable {
    let end = clock.now.advanced(by: duration)
    return CompactionBudget { clock.now >= end }
  }
}

/// How far a compaction is.
package struct CompactionProgress: Sendable {
  /// The bytes copied so far in this call, and how many there were to copy when it began.
  package internal(set) var copiedByteCount = 0
  package internal(set) var plannedByteCount = 0
}
