// What salvaging saved, and what it could not: docs/maintenance.md, "Salvage".

import NotelogBase

/// What became of a store that was salvaged.
public struct SalvageSummary: Sendable {
  /// What became of the keyring.
  public enum KeyringOutcome: String, Sendable {
    /// Both copies were sound, and came along.
    case sound
    /// One copy was missing or damaged; both are what the other one was.
    case mended
    /// Neither copy checks, or they disagree; both came along as they are.
    case damaged
    /// The copies there are belong to another store, and were left where they are.
    case foreign
    /// There is one that can't be opened: it may be a link, or for others only. It was left where it is.
    case unreadable
    /// There is none: what is sealed stays so until a keyring is restored from a backup.
    case missing
  }

  /// The store that was salvaged, and is the new one's id.
  var store = ID16.zero
  /// The store's id: the new store has it too.
  public var storeID: String { RecordID(store).description }
  /// How many records were saved, the store's own not counted.
  public internal(set) var recordCount = 0
  /// How many chunks of large values were saved.
  public internal(set) var chunkCount = 0
  /// The bytes of what was saved.
  public internal(set) var byteCount = 0
  /// How many records were left out because their newest version is a deletion.
  public internal(set) var deletedCount = 0
  /// Records that were saved in an older version, since their newest is lost.
  public internal(set) var olderVersions: [RecordID] = []
  /// Where this is not 0, a saved record with a lower revision may have had a newer version, or may have been
  /// deleted, in what is lost.
  public internal(set) var possiblyStaleBelow: UInt64 = 0
  /// How many records the index places where frames are lost, beside those named: their ids are not known.
  public internal(set) var unnamedRecordCount = 0
  /// What became of the keyring.
  public internal(set) var keyring = KeyringOutcome.missing
  /// The file that the keyring was found in, where that is neither `keyring` nor `keyring.copy`: it is the
  /// newest that the credential opens, or these two don't serve.
  public internal(set) var keyringFile: String?
  /// The names under which other keyrings of the store came along, beside the one in force: nobody knows
  /// without a key which is the store's.
  public internal(set) var furtherKeyrings: [String] = []
  /// The files that frames were read from.
  public internal(set) var files: [String] = []
  /// Of these, files without a readable header.
  public internal(set) var headerless: [String] = []
  /// Of these, further copies of another one.
  public internal(set) var duplicates: [String] = []
  /// Files of other stores, which were left out, and those stores.
  var others: [(name: String, storeID: ID16)] = []
  /// Files of other stores, which were left out.
  public var foreign: [String] { others.map(\.name) }
  /// The stores that these are of.
  public var foreignStores: [String] { Set(others.map(\.storeID)).sorted().map { RecordID($0).description } }
  /// How many losses there are; the first hundred thousand are in ``losses``.
  public internal(set) var lossCount = 0
  /// What could not be saved.
  public internal(set) var losses: [Finding] = []

  /// Whether something was read, nothing that is known of was lost, and the keyring is whole.
  public var isComplete: Bool {
    !files.isEmpty && (recordCount > 0 || others.isEmpty) && lossCount == 0 && possiblyStaleBelow == 0
      && (keyring == .sound || keyring == .mended)
  }

  /// How many losses are listed at most.
  private static let maximumListedLosses = 100_000

  /// Notes something that is lost.
  ///
  /// - Parameters:
  ///   - kind: What is lost.
  ///   - file: The file that it is lost in; nil where it is lost with a file, or with several.
  ///   - range: Where in the file.
  ///   - record: Whose it is, where that is known.
  mutating func add(
    _ kind: Finding.Kind, in file: SalvageFile?, _ range: Range<Int> = 0..<0, record: ID16? = nil
  ) {
    add(
      Finding(
        kind, in: file?.name, segment: file?.number, offset: range.lowerBound, byteCount: range.count,
        record: record))
  }

  mutating func add(_ loss: Finding) {
    lossCount += 1
    if losses.count < Self.maximumListedLosses { losses.append(loss) }
  }
}
