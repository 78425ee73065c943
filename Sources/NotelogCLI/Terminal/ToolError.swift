// The exit codes that scripts rely on.

import Foundation
import Notelog

/// How the tool ended. The numbers never change.
enum ExitCode: Int32, CaseIterable, Sendable {
  case done = 0
  case no = 1
  case failed = 2
  case damage = 3
  case leftOut = 4
  case noStore = 10
  case busy = 11
  case locked = 12
  case usage = 64
  case interrupted = 130

  /// What the code means, as help and man page say it.
  var meaning: String {
    switch self {
    case .done: "done"
    case .no: "answered no: nothing found, or verify found damage"
    case .failed: "failed"
    case .damage: "damage was met; what is sound was still served"
    case .leftOut: "done, but for values of more than 16 MiB, which only 'get' brings, one at a time"
    case .noStore: "there is no store at this path"
    case .busy: "another process is writing to the store"
    case .locked: "a password or key is needed, or it was wrong"
    case .usage: "the command line was not understood"
    case .interrupted: "interrupted"
    }
  }
}

// MARK: - What the tool says when it cannot go on: a message, perhaps a hint, and the exit code.

/// An error for the person at the terminal; the message is lower case and without a full stop.
struct ToolError: Error, Equatable, Sendable {
  var code: ExitCode
  var message: String
  var hint: String?
  /// Whether what was asked for may be done all the same.
  var isOutcomeUnknown = false

  init(_ code: ExitCode, _ message: String, hint: String? = nil) {
    self.code = code
    self.message = message
    self.hint = hint
  }

  /// An error in the command line itself.
  static func usage(_ message: String, hint: String? = nil) -> ToolError {
    ToolError(.usage, message, hint: hint)
  }

  /// The reader of stdout went away: the tool ends without a word.
  static let closedPipe = ToolError(.done, "the reader of standard output went away")

  static let interrupted = ToolError(.interrupted, "interrupted")

  /// That a folder should be new, and is not.
  static func notEmpty(_ path: String) -> ToolError {
    ToolError(.failed, "the folder '\(path)' is not empty", hint: "a store needs a folder of its own")
  }
}

// MARK: - The library's errors as the tool says them: the same words, an exit code and a hint.

extension ToolError {
  /// What the library threw.
  init(_ error: NotelogError) {
    // Whoever typed the command has named the folder.
    let withoutFolder = String(error.message.trimmingPrefix("'\(error.path ?? "")': "))
    let message =
      error.code == .wrongPassword
      ? "the password or key does not open this store"
      : Self.lowerCase(withoutFolder) + Self.place(of: error)
    let (code, hint) = Self.answer(to: error.code)
    let isUnproven = error.damage?.verdict == .unproven
    self.init(
      code, message,
      hint: isUnproven
        ? "'notelog salvage STORE --to NEW' saves what is left; list and dump still show it" : hint)
    isOutcomeUnknown = error.outcome == .unknown
    guard isOutcomeUnknown else { return }
    self.message = "it is not known whether this was done: " + message
    self.hint = "it is done as a whole or not at all: look again before you repeat it"
  }

  /// What a command threw: the tool's own error, or the library's.
  init(any error: any Error) {
    switch error {
    case let error as ToolError: self = error
    case let error as NotelogError: self.init(error)
    default: self.init(.failed, "\(error)")
    }
  }

  private static func answer(to code: NotelogError.Code) -> (code: ExitCode, hint: String?) {
    switch code {
    case .notFound: (.no, nil)
    case .locked: (.locked, "give the password with --password-file FILE, or run it on a terminal")
    case .wrongPassword, .missingKey: (.locked, nil)
    case .tampered, .damaged: (.damage, "'notelog verify STORE' says what is damaged")
    case .busy:
      (.busy, "another process is writing to the store; try again later, or wait for it with --wait SECONDS")
    case .cancelled: (.interrupted, nil)
    case .full:
      (
        .failed,
        "'notelog compact STORE' gives back what was changed or removed, on a full disk too; or remove something first"
      )
    default: (.failed, nil)
    }
  }

  /// Where it happened, and what the system said of it.
  private static func place(of error: NotelogError) -> String {
    var place = ""
    if let segment = error.segment {
      place = " (segment \(segment)" + (error.offset.map { ", offset \($0)" } ?? "") + ")"
    }
    // Most messages say already why the system's call failed.
    if let number = error.errno, error.code == .inputOutput, !error.message.contains(" failed: ") {
      place += ": \(systemError(number))"
    }
    return place
  }

  /// A message as part of a line: in lower case, unless its first word is a name.
  private static func lowerCase(_ message: String) -> String {
    let word = message.prefix { $0 != " " }
    guard word.dropFirst().allSatisfy(\.isLowercase) else { return message }
    return message.prefix(1).lowercased() + message.dropFirst()
  }
}

/// Runs what calls the library, with words of the tool's own for some of its errors.
///
/// - Parameters:
///   - words: What is said in the place of errors: `notFound` is nothing at a path, `alreadyExists` a folder that
///     should be new and is not.
///   - target: The folder that is written to, where it is another one than the store: what is said where its
///     disk is full.
///   - body: What calls the library.
/// - Returns: What it returned.
/// - Throws: What it threw, or what is said instead.
func saying<Result>(
  _ words: [NotelogError.Code: ToolError], into target: String? = nil, _ body: () throws -> Result
) throws -> Result {
  do { return try body() } catch let error as NotelogError {
    if let said = words[error.code] { throw said }
    guard error.code == .full, let target else { throw error }
    throw ToolError(
      .failed, ToolError(error).message,
      hint: "the disk of '\(target)' is full: make room there, or name a folder on another disk")
  }
}

// MARK: - The system's own words for an error number.

func systemError(_ number: Int32) -> String {
  // SAFETY: strerror returns a string that ends in a zero and is copied before any other call.
  let text = unsafe String(cString: strerror(number))
  return text.prefix(1).lowercased() + text.dropFirst()
}
