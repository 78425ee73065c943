// The one error that the library throws.

import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// What went wrong, where, and what to do about it.
///
/// Everything in the library that says `throws` throws this, or what a closure of yours threw. Catch it by
/// its code:
///
/// ```swift
/// do {
///   print(try entry.text)
/// } catch let error as NotelogError where error.code == .locked {
///   askForPassword()
/// }
/// ```
///
/// Two errors are equal when their codes are: tests and callers compare `error.code`, people read
/// `error.message`.
public struct NotelogError: Error, Sendable {
  /// The kind of failure, told apart so that a program can act on it.
  public enum Code: String, Sendable, Hashable, CaseIterable {
    /// No such record, collection, field or store.
    case notFound
    /// A store, record or name exists where none should.
    case alreadyExists
    /// The key is locked: unlock the store and try again.
    case locked
    /// The password (or raw key) opens none of the store's slots.
    case wrongPassword
    /// The value names a key that the keyring doesn't hold.
    case missingKey
    /// Something authenticated was altered: a value, a key slot, the keyring or the schema.
    case tampered
    /// Bytes on the disk are broken or missing.
    case damaged
    /// The store was written by a version this library doesn't read, or may not write.
    case unsupportedVersion
    /// Another process, or another `Store` of this one, has the store open for writing.
    case busy
    /// The operating system refused a call; `errno` says why.
    case inputOutput
    /// The disk is full: nothing was promised; delete, compact, and go on, or make room elsewhere.
    case full
    /// A write or sync failed, this one or an earlier one. What was being written is whole or absent once the
    /// store is opened again, and reads may show it until then: open the store again, and look by id or
    /// revision before you write it once more.
    case poisoned
    /// The store was closed.
    case closed
    /// The store was opened for reading only.
    case readOnly
    /// The store is suspended: it has given its lock back. `Store.resume(waiting:)` takes it again.
    case suspended
    /// A named limit of the format was exceeded.
    case limitExceeded
    /// A value was read or written as another type than the stored one.
    case typeMismatch
    /// The record, or the key of a value, changed since it was read: read it again.
    case conflict
    /// Another record has a value that the schema says no two share (``Unique``): `record` is that one.
    case notUnique
    /// A record refers to one that is not there, or to one that can't be deleted because it does
    /// (``DeleteRule/refuse``): `record` is the one that refers.
    case brokenReference
    /// The schema in code can't follow the schema in the store.
    case schemaConflict
    /// A snapshot's data are no longer kept.
    case snapshotExpired
    /// Whoever asked for the work stopped it.
    case cancelled
    /// An argument makes no sense here.
    case invalidArgument
  }

  /// The kind of failure.
  public let code: Code
  /// What happened, where, and what to do, in a sentence or two without a final stop.
  public internal(set) var message: String
  /// The folder that it is about, as it was named, where it is about one. The message names it too.
  public internal(set) var path: String?
  /// The record that it is about, where it is about one: whose value can't be opened or stored, or which is
  /// in the way of another. The message names it too.
  public internal(set) var record: RecordID?
  /// The segment concerned, if one is.
  public let segment: Int?
  /// The offset in that segment, if one is known.
  public let offset: Int?
  /// The operating system's error number beneath, if there was one.
  public let errno: Int32?
  /// What was found, where a store can't be opened because of what it lost.
  public internal(set) var damage: DamageReport?

  /// What became of what was asked for.
  public enum Outcome: Sendable, Hashable {
    /// It was not done.
    case notDone
    /// It was done. The error stood in the way of something that follows, and that the next unlocking does.
    case done
    /// It is done as a whole or not at all, and a reopening shows which.
    case unknown
  }

  /// What became of what was asked for, where an error ended it. A long work that is done step by step has
  /// done its earlier steps.
  public internal(set) var outcome = Outcome.notDone

  /// The system call that failed, where one did.
  var cause: StorageError?
  /// The collection that a record was to be in, and the one whose record has its id.
  var collections: (new: UInt16, old: UInt16)?
  /// What a user is told, where that is more than the code says.
  var sentence: String?
  /// What a user can do about it, where there is a sentence of its own.
  var suggestion: String?

  /// Creates an error.
  public init(
    _ code: Code, _ message: String, segment: Int? = nil, offset: Int? = nil, errno: Int32? = nil
  ) {
    self.code = code
    self.message = message
    self.segment = segment
    self.offset = offset
    self.errno = errno
  }

  /// An error that is about the store as a whole, which its message names.
  init(_ code: Code, _ message: String, in path: String, cause: StorageError? = nil) {
    self.init(code, path.isEmpty ? message : "'\(path)': \(message)", errno: cause?.errno)
    self.cause = cause
    if !path.isEmpty { self.path = path }
  }

  /// A system call that failed.
  ///
  /// - Parameters:
  ///   - cause: What it threw.
  ///   - place: What was being done; nil where that is plain.
  init(_ cause: StorageError, _ place: String? = nil) {
    let prefix = place.map { "\($0): " } ?? ""
    if cause.call == .version, let number = FileName.segmentNumber(cause.name) {
      self.init(
        .unsupportedVersion, "segment \(number) was written by a newer version", segment: Int(number))
    } else if cause.errno == SystemErrno.badDescriptor {
      // Files of an open store are opened again when they are needed: only closing it closes them for good.
      self = .closed(cause.folder)
    } else if place == nil, cause.isNoSpace {
      self.init(.full, "no space left on the device", in: cause.folder)
    } else {
      let call = cause.name.isEmpty ? cause.call.rawValue : "\(cause.call.rawValue) of '\(cause.name)'"
      self.init(
        cause.isNoSpace ? .full : .inputOutput, "\(prefix)\(call) failed: \(cause.reason)", errno: cause.errno
      )
      if !cause.folder.isEmpty { path = cause.folder }
    }
    self.cause = cause
    // The file has its name already: a crash may take that away again.
    if place != nil, cause.call == .syncFolder { outcome = .unknown }
  }

  static func closed(_ path: String) -> NotelogError {
    NotelogError(.closed, "the store is closed", in: path)
  }

  static func readOnly(_ path: String) -> NotelogError {
    NotelogError(.readOnly, "the store was opened for reading only", in: path)
  }

  static func suspended(_ path: String) -> NotelogError {
    NotelogError(.suspended, "the store is suspended: resume it to write", in: path)
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
  ) -> NotelogError {
    let holder = storage.lockHolder(of: name)
    return NotelogError(
      .busy, what + (holder.map { " in \($0)" } ?? " elsewhere"), in: storage.path, cause: cause)
  }

  /// A store lost something that nothing names.
  init(unproven report: RecoveryReport) {
    let segments = report.unnamedLosses.sorted().map(String.init).joined(separator: ", ")
    self.init(
      .damaged,
      "records are lost, and nothing says which (segment \(segments)): what is left may be older than it was; salvage it, or restore a backup",
      segment: report.unnamedLosses.min().map(Int.init))
    damage = DamageReport(
      verdict: report.verdict, findings: report.damages, lostRecordCount: 0,
      possiblyStaleBelow: report.possiblyStaleBelow)
  }
}

/// Runs system calls; their errors become the library's.
@inline(__always)
func fromStorage<Result: ~Copyable>(
  _ body: @autoclosure () throws(StorageError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw NotelogError(error) }
}

/// Does something with a folder, or with two: an error that names none of them gets the first one's path.
func about<Result: ~Copyable>(
  _ storage: any Storage, and other: (any Storage)? = nil,
  _ body: @autoclosure () throws(NotelogError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw error.naming(storage.path, or: other?.path ?? "") }
}

extension NotelogError {
  /// The same, with the folder that it is about, unless that is named already: of two, the one that the
  /// message names, or else the first.
  func naming(_ path: String, or other: String = "") -> NotelogError {
    for path in [path, other] where errno == SystemErrno.notFolder && !path.isEmpty {
      if let fault = FolderPath.fault(of: path, SystemErrno.notFolder) { return fault }
    }
    guard !path.isEmpty, self.path == nil else { return self }
    var error = self
    let named = [path, other].filter { !$0.isEmpty && message.contains($0) }.max { $0.count < $1.count }
    error.path = named ?? path
    if named == nil { error.message = "'\(path)': \(message)" }
    return error
  }

  /// The same, with the record that it is about.
  func of(_ record: RecordID) -> NotelogError {
    var error = self
    error.record = record
    return error
  }

  /// What the library's own code threw through a declaration that says no more than `throws`: always one of
  /// these.
  init(ours error: any Error) { self = error as? NotelogError ?? NotelogError(.damaged, "\(error)") }

  /// Why a value of a field can't be stored. An app's own error may quote the value, which may be one to be
  /// sealed: its words are left out.
  init(storing name: String, _ error: any Error) {
    self =
      error as? NotelogError
      ?? NotelogError(.invalidArgument, "\(name): can't be stored (\(type(of: error)))")
  }
}

extension NotelogError: Equatable, CustomStringConvertible {
  /// Whether both errors have the same code.
  public static func == (left: NotelogError, right: NotelogError) -> Bool { left.code == right.code }

  /// The message, with its place where one is known.
  public var description: String {
    var place = ""
    if let segment { place += " (segment \(segment)" + (offset.map { ", offset \($0)" } ?? "") + ")" }
    if let errno { place += " (errno \(errno))" }
    return message + place
  }
}

// MARK: - What the sealing layer refuses, in the words of whoever reads the message.

extension NotelogError {
  /// The public error for one of the sealing layer's. The place says what was being done to what, such as
  /// "note.title of record 12…".
  init(crypto error: CryptoError, _ place: String) {
    let (code, words): (Code, String) =
      switch error {
      case .wrongPassword: (.wrongPassword, "the password is not right")
      case .wrongKey: (.wrongPassword, "the key is not right")
      case .tamperedSlot(let slot):
        (.tampered, "slot \(slot) of the keyring was altered; try another password or the recovery key")
      case .tamperedKeyring: (.tampered, "the keyring was altered; restore it from a backup")
      case .damagedKeyring(let damage):
        (.damaged, "the keyring is damaged (\(damage)); restore it from a backup")
      case .locked(let accessClass): (.locked, "its key (\(accessClass)) is locked; unlock the store")
      case .lockedMeanwhile: (.locked, "the store was locked meanwhile")
      case .tamperedSchema: (.tampered, "a schema was altered; restore the store from a backup")
      case .rootLocked: (.locked, "the store is locked; unlock it")
      case .missingKey(let reference): (.missingKey, "the keyring has no \(reference)")
      case .elsewhere(let reference):
        (.missingKey, "\(reference) stayed on the device that it was made on, and opens there only")
      case .effaced(let reference):
        (
          .missingKey,
          "\(reference) was shredded, or its effaceable file is missing: backups leave it out, so put it here if it is kept"
        )
      case .shredded:
        (.missingKey, "the key was shredded, and what was under it is gone; a new one needs another name")
      case .boundToDevice: (.invalidArgument, "a key that is used on this device only can't be granted")
      case .noDeviceSecret:
        (.inputOutput, "this device's secret can't be read or made; nobody else may be able to read its file")
      case .unknownKeyName: (.notFound, "the store has no key of this name")
      case .duplicateKeyName: (.alreadyExists, "there is a key of this name already")
      case .missingSlot(let slot): (.notFound, "the keyring has no slot \(slot)")
      case .lastSlot:
        (.invalidArgument, "the last slot can't be removed, nobody could unlock the store any more")
      case .tampered: (.tampered, "the value was altered, or moved here from elsewhere")
      case .unsupported(let what): (.unsupportedVersion, "this version doesn't know \(what)")
      case .limitExceeded(let limit): Self.meaning(of: limit)
      case .closed: (.closed, "the store is closed")
      case .forked: (.closed, "the process was forked since the store was opened; open it again")
      case .outOfMemory: (.inputOutput, "no memory for a secret")
      case .noRandomness: (.inputOutput, "the system gives no random bytes")
      case .library: (.inputOutput, "the cryptographic library failed")
      }
    self.init(code, "\(place): \(words)")
    if error == .wrongKey { (sentence, suggestion) = ("The key is not right.", "Try it again.") }
    if error == .unknownKeyName { sentence = "There is no key of this name." }
  }

  /// What the caller chose is not possible; other limits are reached.
  private static func meaning(of limit: CryptoError.CryptoLimit) -> (Code, String) {
    switch limit {
    case .plaintext: (.limitExceeded, "the value is too long to be sealed")
    case .additionalData: (.limitExceeded, "the name of its field or collection is too long")
    case .workFactor: (.invalidArgument, "the work for a password is an exponent from 14 to 18")
    case .slots:
      (.limitExceeded, "the store has as many passwords and keys as it can have: remove one first")
    case .namedKeys: (.limitExceeded, "the store has as many named keys as it can have")
    case .keyGenerations: (.limitExceeded, "the keyring was changed too often")
    case .keyName: (.invalidArgument, "the name of a key has 1 to 63 bytes of UTF-8")
    case .keyringSize: (.limitExceeded, "the keyring is longer than any can be")
    case .secret: (.invalidArgument, "the password or key is too long or too short")
    }
  }
}

extension Vault {
  /// The key of a reference; where it can't be used, the error names the place.
  func sealingKey(
    _ reference: UInt32, for place: @autoclosure () -> String
  ) throws(NotelogError) -> SealingKey {
    try naming(place(), sealingKey(KeyReference(rawValue: reference)))
  }
}

/// Runs `body`, its errors named by the place.
func naming<Result: ~Copyable>(
  _ place: @autoclosure () -> String, _ body: @autoclosure () throws(CryptoError) -> Result
) throws(NotelogError) -> Result {
  do { return try body() } catch { throw NotelogError(crypto: error, place()) }
}
