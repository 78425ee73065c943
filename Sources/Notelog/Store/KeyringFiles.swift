// The keyring on disk: two files, each replaced in one step (docs/format-keyring.md 10.9).

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// Reads and replaces `keyring` and `keyring.copy`.
struct KeyringFiles: Sendable {
  static let name = FileName.keyring
  static let copyName = FileName.keyringCopy

  let storage: any Storage

  /// Reads both files, which must belong to a store where it is known; or, where another keyring was chosen
  /// than they make, gives that one twice.
  func read(of storeID: ID16? = nil, choosing chosen: Keyring? = nil) -> TwinFile {
    func read(_ name: String) -> FileCopy<Keyring> {
      FileCopy(name, in: storage, upTo: Keyring.byteCountMax) { bytes throws(NotelogError) in
        try Self.parse(bytes, of: storeID)
      }
    }
    let found = TwinFile(first: read(Self.name), copy: read(Self.copyName))
    guard let chosen, chosen != found.newest else { return found }
    return TwinFile(
      first: FileCopy(name: Self.name, bytes: chosen.bytes, content: chosen),
      copy: FileCopy(name: Self.copyName, bytes: chosen.bytes, content: chosen))
  }

  private static func parse(_ bytes: [UInt8], of storeID: ID16?) throws(NotelogError) -> Keyring {
    do throws(CryptoError) {
      let keyring = try Keyring(parsing: bytes)
      guard storeID == nil || keyring.storeID == storeID else { throw .damagedKeyring(.otherStore) }
      return keyring
    } catch { throw NotelogError(crypto: error, "reading the keyring") }
  }

  /// What an opening goes by. Where neither file serves, one that only reads goes by an empty keyring:
  /// nothing sealed opens, and all that is plain is there.
  func load(
    of storeID: ID16, forReading: Bool = false
  ) throws(NotelogError) -> (keyring: Keyring, other: Keyring?, finding: TwinFinding) {
    let found = read(of: storeID)
    if let keyring = found.newest { return (keyring, found.other, found.finding) }
    let failure =
      found.failure
      ?? NotelogError(.damaged, "the store has neither keyring nor keyring.copy; restore one from a backup")
    guard forReading, failure.code == .damaged else { throw failure }
    return (.none(of: storeID), nil, TwinFinding(refusal: failure.message))
  }

  /// Whether `keyring` is another one than this, judged by its generation.
  func mayDiffer(from keyring: Keyring) -> Bool {
    let offset = Keyring.generationOffset
    let start = start(of: Self.name, byteCount: offset + 8)
    return start.map { $0.rawSpan.load(UInt64.self, at: offset) != keyring.generation } ?? false
  }

  /// The sound keyrings that lie in the folder, each once: those of the two files first, then those that lie
  /// beside them, under whatever names.
  ///
  /// - Parameter storeID: The store that they must belong to; nil where it is not known.
  /// - Returns: Their names, and what is in them.
  func all(of storeID: ID16?) -> [(name: String, keyring: Keyring)] {
    let others = ((try? storage.names(in: "")) ?? []).filter { name in
      !Self.isOwn(name) && !name.hasSuffix(FileName.partialSuffix)
        && start(of: name, byteCount: Keyring.magic.count) == Keyring.magic
    }
    var found: [(name: String, keyring: Keyring)] = []
    for name in [Self.name, Self.copyName] + others.sorted() {
      guard let bytes = try? storage.readWhole(name, upTo: Keyring.byteCountMax),
        let keyring = try? Self.parse(bytes, of: storeID),
        !found.contains(where: { $0.keyring == keyring })
      else { continue }
      found.append((name, keyring))
    }
    return found
  }

  /// Whether a name is one of the two.
  static func isOwn(_ name: String) -> Bool { name == Self.name || name == copyName }

  /// The newest of some keyrings that a credential opens, its MACs checked.
  ///
  /// - Throws: Why it opens none of them: `wrongPassword`, `tampered`; `invalidArgument` where it is none.
  static func newest(
    of found: [(name: String, keyring: Keyring)], openedBy credential: Credential
  ) throws(NotelogError) -> (name: String, keyring: Keyring) {
    let place = "opening the keyring"
    var refusal = NotelogError(crypto: .tamperedKeyring, place)
    for one in found.sorted(by: { $0.keyring.generation > $1.keyring.generation }) {
      do throws(NotelogError) {
        let secret = try credential.secret(place)
        if try naming(place, one.keyring.isMade(by: secret)) { return one }
      } catch {
        guard error.code == .wrongPassword || error.code == .tampered else { throw error }
        refusal = error
      }
    }
    throw refusal
  }

  /// Puts a keyring beside the two, in the place of none: whether it is the store's, nobody with a key has
  /// checked.
  ///
  /// - Returns: Its name; nothing where it is in the folder already.
  @discardableResult
  func keepBeside(_ keyring: Keyring, of storeID: ID16?) throws(NotelogError) -> String? {
    if all(of: storeID).contains(where: { $0.keyring == keyring }) { return nil }
    let fingerprint = try naming("naming a keyring", keyring.fingerprint())
    let name = FileName.furtherKeyring(keyring.generation, fingerprint)
    try storage.keepCopy(keyring.bytes, as: name)
    return name
  }

  /// The first bytes of a file; nil where it has fewer, or can't be read.
  private func start(of name: String, byteCount: Int) -> [UInt8]? {
    guard let file = try? storage.openFile(name, .read) else { return nil }
    var buffer = Buffer()
    return (try? buffer.fill(byteCount, from: file, at: 0)) == byteCount ? buffer.bytes.array() : nil
  }

  /// Replaces both files. `keyring` is the first: from then on it is the one that counts.
  func replace(with bytes: [UInt8]) throws(NotelogError) {
    for name in [Self.name, Self.copyName] { try storage.keepCopy(bytes, as: name) }
  }
}

// MARK: - The secret without which a named key's wraps don't open, in a file of its own that can be overwritten (docs/format-keyring.md 10.10).

/// A named key's effaceable secret. No other file of the store holds it, no backup has it, and nothing
/// replaces the file: it is overwritten where it lies.
struct EffaceableFile {
  /// All of it is overwritten: a block of most file systems, so that nothing of a block is written elsewhere.
  private static let byteCount = 4096

  let storage: any Storage
  let storeID: ID16
  let number: UInt16

  private var name: String { FileName.effaceable(number) }

  private var head: [UInt8] {
    var head = Array("NLefface".utf8) + storeID.array
    head.append(littleEndian: number)
    head.append(zeros: 6)
    return head
  }

  /// Whether it is there, whatever is in it.
  var isThere: Bool { (try? storage.openFile(name, .read)) != nil }

  /// The secret; nil where the file is missing, or is not what it was.
  func read() throws(CryptoError) -> Secret? {
    guard let file = try? storage.openFile(name, .read) else { return nil }
    return try file.readSecret(behind: head)
  }

  /// Makes one, durably, before the key that needs it. What is there is of a key that never came to be.
  func make() throws(NotelogError) {
    do {
      let bytes = try Secret.filed(behind: head, byteCount: Self.byteCount)
      try write(bytes.bytes, .createIfMissing)
      try storage.makeNamesDurable()
    } catch let error as StorageError {
      throw NotelogError(error, "making an effaceable secret")
    } catch {
      throw NotelogError(.inputOutput, "making an effaceable secret: no memory or randomness for it")
    }
  }

  /// Overwrites it, with random bytes and then with zeros, each durably, and removes it. A file that is gone,
  /// or was overwritten before, is no obstacle.
  func efface() throws(NotelogError) {
    let noise = (0..<Self.byteCount).map { _ in UInt8.random(in: 0...255) }
    do throws(StorageError) {
      try write(noise.rawSpan, .update)
      try write([UInt8](repeating: 0, count: Self.byteCount).rawSpan, .update)
      try storage.remove(name)
    } catch {
      guard error.isMissing else { throw NotelogError(error, "shredding a key") }
    }
    do { try storage.makeNamesDurable() } catch { throw NotelogError(error, "shredding a key") }
  }

  /// Copies all such files of a folder into another, durably, as they are.
  static func copyAll(from source: any Storage, to target: any Storage) throws(NotelogError) {
    do {
      for name in try source.names(in: "") where FileName.isEffaceable(name) {
        // One that can't be read is as good as missing.
        guard let bytes = try? source.readWhole(name, upTo: byteCount) else { continue }
        try target.replaceWhole(name, with: bytes)
      }
    } catch { throw NotelogError(error, "copying an effaceable secret") }
  }

  private func write(_ bytes: RawSpan, _ mode: StorageOpenMode) throws(StorageError) {
    let file = try storage.openFile(name, mode)
    try file.writeAll(bytes, at: 0)
    try file.makeDurable()
  }
}

/// Where a store's secrets lie that its keyring does not have.
struct OutsideFiles: OutsideSecrets {
  let storage: any Storage
  let storeID: ID16
  let device: DeviceSecret

  func deviceSecret(making: Bool) throws(CryptoError) -> Secret? { try device.load(making: making) }

  func effaceableSecret(ofKey number: UInt16) throws(CryptoError) -> Secret? {
    try EffaceableFile(storage: storage, storeID: storeID, number: number).read()
  }
}
