// How much of long work may be done at a time.

import NotelogBase

/// What one call of compaction, or of a scrub, may spend. What is not finished then goes on in the next call.
public struct WorkBudget: Sendable {
  /// The bytes to copy, or to read, about.
  var byteCount = Int.max
  /// Whether time is up; asked after each piece that was copied.
  var isOver: @Sendable () -> Bool = { false }

  /// As much as it takes.
  public static let unlimited = WorkBudget()

  /// About so many bytes copied, or read where nothing is copied.
  public static func bytes(_ count: Int) -> WorkBudget { WorkBudget(byteCount: max(count, 1)) }

  /// Until so much time has passed: give or take the copying of a mebibyte, or the reading of a segment.
  public static func time(_ duration: Duration) -> WorkBudget {
    let end = ContinuousClock.now.advanced(by: duration)
    return WorkBudget { ContinuousClock.now >= end }
  }

  /// The same budget, which is spent as well when the task is cancelled for which this thread works.
  var untilCancelled: WorkBudget {
    guard let stop = Cancellation.flag else { return self }
    return WorkBudget(byteCount: byteCount) { [isOver] in isOver() || stop.isSet }
  }
}

// MARK: - How far long work has come, told to whoever asked for it, who may stop it.

/// What ends long work before its time: the task that asked for it was cancelled.
enum Cancellation {
  /// Set when the task was cancelled for which this thread works; nil where it works for none.
  @TaskLocal static var flag: Flag?
}

/// Counts the bytes that are done.
struct WorkProgress {
  /// Called with the bytes done and the bytes there are; its answer says whether to go on.
  typealias Report = (_ done: Int, _ total: Int) -> Bool

  private let report: Report
  private let total: Int
  private let stop = Cancellation.flag
  private var done = 0

  init(total: Int, _ report: @escaping Report) {
    self.total = total
    self.report = report
  }

  /// That many more bytes are done.
  ///
  /// - Throws: `cancelled` where the work is to stop.
  mutating func advance(by byteCount: Int) throws(NotelogError) {
    done += byteCount
    guard report(min(done, total), total), stop?.isSet != true else {
      throw NotelogError(.cancelled, "the work was stopped")
    }
  }
}
