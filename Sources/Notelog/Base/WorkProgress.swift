// How far long work has come, told to whoever asked for it, who may stop it.

import NotelogBase

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
