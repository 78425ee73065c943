// What the journal and the operating system refuse, as public errors.

import NotelogStorage
import NotelogJournal

extension NotelogError {
  /// The public error for one of the journal's.
  init(journal error: JournalError) {
    let code: Code =
      switch error.code {
      case .notAStore: .notFound
      case .alreadyExists: .alreadyExists
      case .damaged: .damaged
      case .unsupportedVersion: .unsupportedVersion
      case .busy: .busy
      case .inputOutput: .inputOutput
      case .full: .full
      case .poisoned: .poisoned
      case .closed: .closed
      case .limitExceeded: .limitExceeded
      case .readOnly: .readOnly
      case .suspended: .suspended
      case .conflict: .conflict
      case .cancelled: .cancelled
      }
    self.init(
      code, error.message + (error.record.map { ": \(RecordID($0))" } ?? ""),
      segment: error.segment.map(UInt64.init), offset: error.offset.map(UInt64.init),
      errno: error.cause?.errno)
    damage = error.report.map(DamageReport.init)
  }

  /// The public error for a system call that failed.
  init(storage error: StorageError, _ place: String) {
    let isFull = error.errno == SystemErrno.noSpace || error.errno == SystemErrno.quotaExceeded
    let call = error.name.isEmpty ? error.call.rawValue : "\(error.call.rawValue) of \(error.name)"
    self.init(
      isFull ? .full : .inputOutput, "\(place): \(call) failed: \(error.reason)",
      errno: error.errno)
  }
}

/// Asks the journal; its errors become public ones.
func journaling<Result: ~Copyable>(
  _ body: @autoclosure () throws(JournalError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw NotelogError(journal: error) }
}
