// How far long work has come, told to whoever asked for it, who may stop it.

/// Counts the bytes that are done.
struct WorkProgress {
  /// Called with the bytes done and the bytes there are; its answer says whether to go on.
  typealias Report = (_ done: Int, _ total: Int) -> Bool

  private let report: Report
  private let total: Int
  private var done = 0

  init(total: Int, _ report: @escaping Report) {
    self.total = total
    self.report = report
  }

  /// That many more bytes are done.
  ///
  /// - Throws: `cancelled` where the work is to stop.
  mutating func advance(by byteCount: Int) throws(JournalError) {
    done += byteCount
    guard report(min(done, total), total) else { throw JournalError(.cancelled, "the work was stopped") }
  }
}
