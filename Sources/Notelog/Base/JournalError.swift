// What can go wrong in the journal.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// An error of the journal: what, where, and the system's own error where there is one.
struct JournalError: Error, Sendable, Equatable {
  /// What kind of error it is.
  enum Code: String, Sendable {
    /// There is no store here, or there is one where none may be.
    case notAStore, alreadyExists
    /// Bytes that were durable do not check.
    case damaged
    /// Written by a version that this one must not read, or not write.
    case unsupportedVersion
    /// Another process, or this one, has the store open for writing.
    case busy
    /// The system failed; the store may be reopened.
    case inputOutput
    /// No room: nothing was written, and the store goes on.
    case full
    /// An earlier write or sync failed: reads go on, writes need a reopening.
    case poisoned
    /// The store was closed, or this process is a fork of the one that opened it.
    case closed
    /// A number, length or count is beyond what the format allows.
    case limitExceeded
    /// The store was opened for reading.
    case readOnly
    /// The store's lock was given back.
    case suspended
    /// A record of that id is in another collection.
    case conflict
    /// Whoever asked for the work stopped it.
    case cancelled
  }

  let code: Code
  let message: String
  /// The segment it is about, where there is one.
  var segment: UInt32?
  /// The offset in that segment.
  var offset: Int?
  /// The record it is about, where there is one.
  var record: ID16?
  /// The collection that it was to be in, and the one that has its id.
  var collections: (new: UInt16, old: UInt16)?
  /// What a user is told, where that is more than the code says.
  var sentence: String?
  /// Whether what was being written may be there all the same.
  var isOutcomeUnknown = false
  /// The system call that failed, where one did.
  var cause: StorageError?
  /// What was found, where a store is refused for damage.
  var report: RecoveryReport?

  init(
    _ code: Code, _ message: String, segment: UInt32? = nil, offset: Int? = nil, cause: StorageError? = nil
  ) {
    self.code = code
    self.message = message
    self.segment = segment
    self.offset = offset
    self.cause = cause
  }

  /// Two errors are equal when they are of one kind: what tests ask.
  static func == (left: JournalError, right: JournalError) -> Bool { left.code == right.code }

  /// A store lost something that nothing names.
  init(unproven report: RecoveryReport) {
    let segments = report.unnamedLosses.sorted().map(String.init).joined(separator: ", ")
    self.init(
      .damaged,
      "records are lost, and nothing says which (segment \(segments)): what is left may be older than it was; salvage it, or restore a backup",
      segment: report.unnamedLosses.min())
    self.report = report
  }

  /// A system call that failed where nothing was promised yet.
  init(_ cause: StorageError) {
    if cause.isNoSpace {
      self.init(.full, "no space left on the device", cause: cause)
    } else if cause.errno == SystemErrno.badDescriptor {
      // Files of an open journal are opened again when they are needed: only closing it closes them for good.
      self = JournalError.closed
    } else {
      self.init(
        .inputOutput, "\(cause.call.rawValue) of '\(cause.name)' failed: \(cause.reason)", cause: cause)
    }
  }
}

/// Runs system calls; their errors become the journal's.
@inline(__always)
func fromStorage<Result: ~Copyable>(
  _ body: () throws(StorageError) -> Result
) throws(JournalError) -> Result {
  do { return try body() } catch { throw JournalError(error) }
}

/// The same of a single expression.
@inline(__always)
func fromStorage<Result: ~Copyable>(
  _ body: @autoclosure () throws(StorageError) -> Result
) throws(JournalError) -> Result {
  do { return try body() } catch { throw JournalError(error) }
}

extension FileName {
  /// The number of the next segment.
  static func segmentNumber(after number: UInt32) throws(JournalError) -> UInt32 {
    guard number < FormatLimits.maximumSegmentNumber else {
      throw JournalError(
        .limitExceeded, "the store has used all of its segment numbers; dump it and import it anew")
    }
    return number + 1
  }
}
