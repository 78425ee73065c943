// What the journal and the operating system refuse, as public errors.

import NotelogJournal

extension NotelogError {
  /// The public error for a system call that failed.
  init(storage error: StorageError, _ place: String) {
    let isFull = error.errno == SystemErrno.noSpace || error.errno == SystemErrno.quotaExceeded
    let call = error.name.isEmpty ? error.call.rawValue : "\(error.call.rawValue) of \(error.name)"
    self.init(
      isFull ? .full : .inputOutput, "\(place): \(call) failed: \(SystemErrno.message(error.errno))",
      errno: error.errno)
  }
}
