// How much of long work may be done at a time.

/// What one call of compaction, or of a scrub, may spend. What is not finished then goes on in the next call.
package struct WorkBudget: Sendable {
  /// The bytes to copy, or to read, about.
  package var byteCount: Int
  /// Whether time is up; asked after each piece that was copied.
  package var isOver: @Sendable () -> Bool

  package init(byteCount: Int = .max, isOver: @escaping @Sendable () -> Bool = { false }) {
    self.byteCount = byteCount
    self.isOver = isOver
  }

  /// As long as it takes.
  package static var unlimited: WorkBudget { WorkBudget() }

  /// Until that much time has passed, give or take one piece.
  package static func lasting<C: Clock>(
    _ duration: C.Duration, on clock: C
  ) -> WorkBudget where C.Instant: Sendable {
    let end = clock.now.advanced(by: duration)
    return WorkBudget { clock.now >= end }
  }
}
