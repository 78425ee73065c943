// What the journal and the operating system refuse, as public errors.

import NotelogStorage

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
    record = error.record.map { RecordID($0) }
    sentence = error.sentence
    damage = error.report.map(DamageReport.init)
    if error.isOutcomeUnknown { outcome = .unknown }
  }

  /// The public error for a system call that failed.
  init(storage error: StorageError, _ place: String) {
    if error.errno == SystemErrno.badDescriptor {
      self.init(journal: JournalError.closed)
      return
    }
    let isFull = error.errno == SystemErrno.noSpace || error.errno == SystemErrno.quotaExceeded
    let call = error.name.isEmpty ? error.call.rawValue : "\(error.call.rawValue) of '\(error.name)'"
    self.init(
      isFull ? .full : .inputOutput, "\(place): \(call) failed: \(error.reason)",
      errno: error.errno)
    // The file has its name already: a crash may take that away again.
    if error.call == .syncFolder { outcome = .unknown }
  }
}

/// Asks the journal; its errors become public ones, which name the folder where they are about the store as a whole.
func journaling<Result: ~Copyable>(
  at path: @autoclosure () -> String = "", _ body: @autoclosure () throws(JournalError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch {
    let error = NotelogError(journal: error)
    throw error.code.isOfStore ? error.naming(path()) : error
  }
}

extension NotelogError.Code {
  /// Whether an error of the kind is about the store as a whole, and not about a record or a place in it.
  fileprivate var isOfStore: Bool {
    switch self {
    case .notFound, .alreadyExists, .busy, .inputOutput, .full, .poisoned, .closed, .readOnly, .suspended,
      .unsupportedVersion:
      true
    default: false
    }
  }
}

/// Does something with a folder, or with two: an error that names none of them gets the first one's path.
func about<Result: ~Copyable>(
  _ storage: any Storage, _ other: (any Storage)? = nil, _ body: () throws(NotelogError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw error.naming(storage.path, or: other?.path ?? "") }
}
