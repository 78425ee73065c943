// How much of long work may be done at a time.

import NotelogBase
import NotelogJournal

/// What one call of compaction, or of a scrub, may spend. What is not finished then goes on in the next call.
public struct WorkBudget: Sendable {
  let journal: NotelogJournal.WorkBudget

  /// As much as it takes.
  public static let unlimited = WorkBudget(journal: .unlimited)

  /// About so many bytes copied, or read where nothing is copied.
  public static func bytes(_ count: Int) -> WorkBudget {
    WorkBudget(journal: NotelogJournal.WorkBudget(byteCount: max(count, 1)))
  }

  /// Until so much time has passed: give or take the copying of a mebibyte, or the reading of a segment.
  public static func time(_ duration: Duration) -> WorkBudget {
    WorkBudget(journal: .lasting(duration, on: ContinuousClock()))
  }

  /// The same budget, which is spent as well when the flag is set.
  func stopping(at stop: Flag) -> WorkBudget {
    var journal = journal
    let isOver = journal.isOver
    journal.isOver = { stop.isSet || isOver() }
    return WorkBudget(journal: journal)
  }
}
