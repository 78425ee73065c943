// One call of compaction while it lasts.

/// What a call of compaction is about, and what it has done.
struct CompactionRun {
  let share: CompactionShare
  /// The segments it is about, where not all are.
  var numbers: Set<UInt32>?
  private(set) var budget: WorkBudget
  var progress = CompactionProgress()
  var result = CompactionSummary()

  /// Whether the budget is spent.
  var isOver: Bool { budget.byteCount <= 0 || budget.isOver() }

  mutating func spend(_ byteCount: Int) {
    if budget.byteCount != .max { budget.byteCount = max(0, budget.byteCount - byteCount) }
    progress.copiedByteCount += byteCount
    result.copiedByteCount += byteCount
  }
}

/// How far a compaction is.
struct CompactionProgress: Sendable {
  /// The bytes copied so far in this call, and how many there were to copy when it began.
  var copiedByteCount = 0
  var plannedByteCount = 0
}
