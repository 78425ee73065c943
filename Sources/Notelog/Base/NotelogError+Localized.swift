// What a person is told of an error, where an app shows it as it is.

public import Foundation

extension NotelogError: LocalizedError {
  /// A sentence that a user can be shown: "The password is not right." ``message`` says what happened
  /// exactly, and where.
  ///
  /// It is in English. An app that speaks other languages says it in its own words, by ``code``.
  public var errorDescription: String? { sentence ?? code.sentence }

  /// What happened exactly, for whoever looks into it: the ``message``.
  public var failureReason: String? { message }

  /// What a user can do about it, where there is something.
  public var recoverySuggestion: String? {
    if sentence != nil { return suggestion }
    return code.suggestion
  }
}

extension NotelogError.Code {
  /// What a user can do about it, where there is something.
  fileprivate var suggestion: String? {
    switch self {
    case .locked: "Unlock it, and try again."
    case .wrongPassword: "Try it again."
    case .missingKey, .tampered, .damaged: "Restore it from a backup, or save what is left of it."
    case .unsupportedVersion: "Update the app, and try again."
    case .busy: "Close it there, or try again later."
    case .full: "Make room on the disk, and try again."
    case .poisoned, .closed: "Open it again."
    case .conflict: "Look at it as it is now, and try again."
    case .notFound, .alreadyExists, .inputOutput, .readOnly, .suspended, .limitExceeded, .typeMismatch,
      .schemaConflict, .snapshotExpired, .cancelled, .invalidArgument:
      nil
    }
  }
}

extension NotelogError.Code {
  /// What a user is told.
  fileprivate var sentence: String {
    switch self {
    case .notFound: "It is not there."
    case .alreadyExists: "There is something of that name already."
    case .locked: "It is locked."
    case .wrongPassword: "The password is not right."
    case .missingKey: "The key that it needs is missing."
    case .tampered: "It was altered, and is not to be trusted."
    case .damaged: "Something in it is damaged."
    case .unsupportedVersion: "It was written by another version of the app."
    case .busy: "It is open somewhere else."
    case .inputOutput: "The disk can’t be read or written."
    case .full: "The disk is full."
    case .poisoned: "It could not be saved."
    case .closed: "It is closed."
    case .readOnly: "It can only be read."
    case .suspended: "It can’t be changed at the moment."
    case .limitExceeded: "It is too large, or there are too many."
    case .typeMismatch: "It is of another kind than this version of the app expects."
    case .conflict: "It was changed elsewhere meanwhile."
    case .schemaConflict: "This version of the app does not fit what is stored."
    case .snapshotExpired: "It is no longer kept as it was."
    case .cancelled: "It was stopped."
    case .invalidArgument: "That is not possible here."
    }
  }
}
