// What a store refuses as a whole, said once for all who say it.

import NotelogStorage

extension JournalError {
  static var closed: JournalError { JournalError(.closed, "the store is closed") }

  static var readOnly: JournalError { JournalError(.readOnly, "the store was opened for reading only") }

  static var suspended: JournalError {
    JournalError(.suspended, "the store is suspended: resume it to write")
  }

  /// Another has the lock that is needed.
  ///
  /// - Parameters:
  ///   - what: What is the case: "the store is open for writing".
  ///   - name: The name of the locked file.
  ///   - storage: The folder that it is in.
  ///   - cause: What locking it threw.
  /// - Returns: The error, with the process that has it where the system says which.
  static func busy(
    _ what: String, _ name: String, in storage: any Storage, cause: StorageError
  ) -> JournalError {
    let holder = storage.lockHolder(of: name)
    return JournalError(.busy, what + (holder.map { " in \($0)" } ?? " elsewhere"), cause: cause)
  }
}
