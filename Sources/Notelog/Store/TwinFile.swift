// What stands in two places, so that one serves where the other does not (FORMAT.md 9.3,
// docs/format-keyring.md 10.9).

import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// What a copy is like beside the other one.
enum CopyState: String, Sendable {
  case sound
  /// The last change reached the other one only: a crash came in between.
  case older
  case missing
  /// It can't be read, does not check, or is another store's.
  case unreadable
  /// It is no older than the other one, and says something else: somebody wrote one of them.
  case different

  /// Whether it is more than a change that reached one copy only.
  var isDamage: Bool { self != .sound && self != .older }
}

/// A file of which there is a second copy, as it was found.
struct FileCopy<Content: Sendable>: Sendable {
  let name: String
  /// Nil where there is no such file; none where it can't be read.
  var bytes: [UInt8]?
  /// What they say; nil where they don't check.
  var content: Content?
  /// Why it does not serve; nil where it does, or is missing.
  var failure: NotelogError?

  var state: CopyState { content != nil ? .sound : bytes == nil ? .missing : .unreadable }
}

extension FileCopy {
  /// Reads a file. Whatever stands in the way is no error yet: that is what the other copy is for.
  init(
    _ name: String, in storage: any Storage, upTo limit: Int,
    _ parse: ([UInt8]) throws(NotelogError) -> Content
  ) {
    self.init(name: name)
    do throws(StorageError) { bytes = try storage.readWhole(name, upTo: limit) } catch {
      if error.errno == SystemErrno.notFound { return }
      (bytes, failure) = ([], NotelogError(error, "reading \(name)"))
    }
    guard let bytes, failure == nil else { return }
    do { content = try parse(bytes) } catch { failure = error }
  }
}

extension Storage {
  /// Replaces a file of which there is a second copy, in one step, by whatever it is.
  func keepCopy(_ bytes: [UInt8], as name: String) throws(NotelogError) {
    do { try replaceWhole(name, with: bytes) } catch { throw NotelogError(error, "writing \(name)") }
  }
}

/// Two files that hold the same keyring. They are replaced one after the other, the first one first: one of
/// them is whole at any moment.
struct TwinFile: Sendable {
  let first: FileCopy<Keyring>
  let copy: FileCopy<Keyring>

  /// The one that counts: the newer of two that are sound; of the same generation, the first.
  var newest: Keyring? {
    guard let one = first.content, let two = copy.content else { return first.content ?? copy.content }
    return two.generation > one.generation ? two : one
  }

  /// The other one, where it is sound and differs.
  var other: Keyring? { [first.content, copy.content].compactMap(\.self).first { $0 != newest } }

  /// What both files are like.
  var finding: TwinFinding {
    var finding = TwinFinding(first: first.state, copy: copy.state)
    guard let one = first.content, let two = copy.content, one != two else { return finding }
    if one.generation < two.generation {
      finding.first = .older
    } else {
      finding.copy = one.generation > two.generation ? .older : .different
    }
    return finding
  }

  /// Why neither of them serves; nil where both are missing.
  var failure: NotelogError? {
    let failures = [first.failure, copy.failure].compactMap(\.self)
    // Why a file can't be read is the better thing to know.
    return failures.first { $0.cause != nil } ?? failures.first
  }

  /// Copies both into another folder: each as it is, or, where it does not check, the other one in its place.
  func copy(to storage: any Storage) throws(NotelogError) {
    for (own, other) in [(first, copy), (copy, first)] {
      let source = own.content == nil && other.content != nil ? other : own
      guard let bytes = source.bytes, !bytes.isEmpty else { continue }
      try storage.keepCopy(bytes, as: own.name)
    }
  }
}

/// What the two files of something are like.
struct TwinFinding: Equatable, Sendable {
  var first = CopyState.sound
  var copy = CopyState.sound
  /// Why neither of them serves, where nothing does.
  var refusal: String?

  var isDamage: Bool { first.isDamage || copy.isDamage }
}
