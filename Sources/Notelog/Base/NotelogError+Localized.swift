// What a person is told of an error, where an app shows it as it is.

public import Foundation

extension NotelogError: LocalizedError {
  /// A sentence that a user can be shown: "The password is not right." ``message`` says what happened
  /// exactly, and where.
  ///
  /// It is in English. An app that speaks other languages says it in its own words, by ``code``.
  public var errorDescription: String? { sentence ?? code.advice.sentence }

  /// What happened exactly, for whoever looks into it: the ``message``.
  public var failureReason: String? { message }

  /// What a user can do about it, where there is something.
  public var recoverySuggestion: String? { sentence == nil ? code.advice.suggestion : suggestion }
}

extension NotelogError.Code {
  /// What a user is told, and what they can do about it, where there is something.
  fileprivate var advice: (sentence: String, suggestion: String?) {
    let restore = "Restore it from a backup, or save what is left of it."
    return switch self {
    case .notFound: ("It is not there.", nil)
    case .alreadyExists: ("There is something of that name already.", nil)
    case .locked: ("It is locked.", "Unlock it, and try again.")
    case .wrongPassword: ("The password is not right.", "Try it again.")
    case .missingKey: ("The key that it needs is missing.", restore)
    case .tampered: ("It was altered, and is not to be trusted.", restore)
    case .damaged: ("Something in it is damaged.", restore)
    case .unsupportedVersion:
      ("It was written by another version of the app.", "Update the app, and try again.")
    case .busy: ("It is open somewhere else.", "Close it there, or try again later.")
    case .inputOutput: ("The disk can’t be read or written.", nil)
    case .full: ("The disk is full.", "Make room on the disk, and try again.")
    case .poisoned: ("It could not be saved.", "Open it again.")
    case .closed: ("It is closed.", "Open it again.")
    case .readOnly: ("It can only be read.", nil)
    case .suspended: ("It can’t be changed at the moment.", nil)
    case .limitExceeded: ("It is too large, or there are too many.", nil)
    case .typeMismatch: ("It is of another kind than this version of the app expects.", nil)
    case .conflict: ("It was changed elsewhere meanwhile.", "Look at it as it is now, and try again.")
    case .notUnique: ("There is another one with the same value.", "Change it, and try again.")
    case .brokenReference: ("Something else still needs it.", nil)
    case .schemaConflict: ("This version of the app does not fit what is stored.", nil)
    case .snapshotExpired: ("It is no longer kept as it was.", nil)
    case .cancelled: ("It was stopped.", nil)
    case .invalidArgument: ("That is not possible here.", nil)
    }
  }
}
