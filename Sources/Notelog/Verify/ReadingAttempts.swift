// Whether what a long reading found is true, beside a process that writes: FORMAT.md §25, "Readers".

import NotelogFormat
import NotelogStorage

/// The attempts at reading all of a store, which takes longer than a writer takes to finish, replace and
/// unlink segments.
///
/// What is sound is believed at once; so is damage, where no segment came, went or was finished since the
/// attempt began. Otherwise the work begins again. From then on a pin keeps segments from being unlinked,
/// where the folder can be written; and what is found twice running is believed.
struct ReadingAttempts: ~Copyable {
  /// How often the work begins again.
  private static let maximumCount = 20

  private let storage: any Storage
  private var count = 0
  /// Which segments there were, and how long, when the attempt began.
  private var segments: [UInt32: Int?] = [:]
  private var lastFinding = ""
  private var pin: Pin?

  /// Verifies a store, if need be more than once.
  ///
  /// - Parameters:
  ///   - storage: The store's folder.
  ///   - once: Verifies it once.
  /// - Returns: What was found of one moment.
  /// - Throws: What `once` throws; `busy` where the store never holds still.
  static func verify(
    _ storage: any Storage, _ once: () throws(NotelogError) -> Verification
  ) throws(NotelogError) -> Verification {
    var attempts = ReadingAttempts(of: storage)
    while true {
      try attempts.begin()
      do {
        var verification = try once()
        let finding = verification.findings.filter(\.isDamage).map { "\($0)" }.sorted().joined()
        guard attempts.accept(finding, since: verification.nextSequence) else { continue }
        if !attempts.isTorn(verification.tornByteCount) { verification.report.torn = [] }
        return verification
      } catch {
        guard error.code == .damaged || error.code == .inputOutput,
          !attempts.accept("\(error)", errno: error.errno)
        else { throw error }
      }
    }
  }

  init(of storage: any Storage) { self.storage = storage }

  /// Begins an attempt.
  ///
  /// - Throws: `busy` where there were too many.
  mutating func begin() throws(NotelogError) {
    guard count < Self.maximumCount else {
      throw NotelogError(.busy, "the store is changed faster than it can be read; try again later")
    }
    count += 1
    segments = segmentsNow()
  }

  /// Which segments there are, and how long they are: a head gets shorter when it is finished or closed.
  private func segmentsNow() -> [UInt32: Int?] {
    var found: [UInt32: Int?] = [:]
    for name in (try? storage.names(in: "")) ?? [] {
      guard let number = FileName.segmentNumber(name) else { continue }
      found[number] = .some(try? storage.openFile(name, .read).byteCount())
    }
    return found
  }

  /// Whether what an attempt found is true of one moment.
  ///
  /// - Parameters:
  ///   - finding: The damage that was found, in words; empty where there is none.
  ///   - nextSequence: The number of the next transaction when what was read with was opened, where it
  ///     matters what was committed since.
  ///   - errno: The system's error number, where the finding is an error.
  /// - Returns: Whether to believe it; if not, the caller begins again.
  mutating func accept(
    _ finding: String, since nextSequence: UInt64? = nil, errno: Int32? = nil
  ) -> Bool {
    // A pin keeps segments, and not the checkpoint: another may have taken its place each time. Nor a head's
    // length: whoever closes the store cuts it, and the next one goes on in it.
    let isReplaced = errno == SystemErrno.stale
    if isReplaced || errno == SystemErrno.inputOutput { lastFinding = "" }
    if finding.isEmpty || finding == lastFinding || !isReplaced && !isDisturbed(since: nextSequence) {
      return true
    }
    if count >= Self.maximumCount, errno == SystemErrno.inputOutput { return true }
    lastFinding = finding
    if pin == nil { pin = try? storage.pin(JournalOptions().random()) }
    return false
  }

  /// Whether bytes behind the last whole transaction are a torn tail. Otherwise they are a transaction that
  /// is under way, or was until now: who begins to write cuts the tail first.
  func isTorn(_ byteCount: Int) -> Bool {
    guard byteCount > 0, storage.lockHolder(of: FileName.lock) == nil else { return false }
    return (try? Examination.stable(storage))?.report.tornByteCount ?? 0 >= byteCount
  }

  /// Whether somebody wrote since the attempt began.
  private func isDisturbed(since nextSequence: UInt64?) -> Bool {
    if segmentsNow() != segments { return true }
    guard let nextSequence else { return false }
    return (try? Examination.stable(storage))?.nextSequence != nextSequence
  }
}
