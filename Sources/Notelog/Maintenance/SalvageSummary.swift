// What salvaging a store saved, and what it could not.

import NotelogCare
import NotelogFormat
import NotelogJournal

/// What became of a store that was salvaged.
public struct SalvageSummary: Sendable {
  /// Something that could not be saved.
  public struct Loss: Sendable, Hashable {
    /// Which kind of loss it is.
    public enum Kind: String, Sendable, CaseIterable {
      /// A segment that the store counts as its own is not there.
      case missingSegment
      /// A file in which not one frame was found.
      case unreadableFile
      /// Bytes that the system could not read.
      case unreadableBytes
      /// Bytes where frames were: what they held is not known.
      case lostFrames
      /// The newest version of a record.
      case record
      /// A transaction that is not whole, and that nothing says was durable.
      case uncommitted
      /// A part of a large value that a saved record refers to.
      case largeValue
    }

    /// Which kind of loss it is.
    public let kind: Kind
    /// What it is, in words.
    public let message: String
    /// The file; nil where there is none.
    public let file: String?
    /// The segment's number, where it is known.
    public let segment: Int?
    /// Where in the file it is.
    public let offset: Int
    /// How many bytes it is about; 0 where that is not known.
    public let byteCount: Int
    /// The record, where it is known.
    public let record: RecordID?
  }

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
    /// There is none: what is sealed stays so until a keyring is restored from a backup.
    case missing
  }

  /// The store's id: the new store has it too.
  public let storeID: String
  /// How many records were saved, the store's own not counted.
  public internal(set) var recordCount: Int
  /// How many chunks of large values were saved.
  public let chunkCount: Int
  /// The bytes of what was saved.
  public let byteCount: Int
  /// How many records were left out because their newest version is a deletion.
  public let deletedCount: Int
  /// Records that were saved in an older version, since their newest is lost.
  public let olderVersions: [RecordID]
  /// Where this is not 0, a saved record with a lower revision may have had a newer version, or may have been deleted, in
  /// what is lost.
  public let staleBelow: UInt64
  /// What became of the keyring.
  public let keyring: KeyringOutcome
  /// The files that frames were read from.
  public let files: [String]
  /// Of these, files without a readable header.
  public let headerless: [String]
  /// Of these, further copies of another one.
  public let doubled: [String]
  /// Files of other stores, which were left out.
  public let foreign: [String]
  /// How many losses there are; the first hundred thousand are in ``losses``.
  public let lossCount: Int
  /// What could not be saved.
  public let losses: [Loss]

  /// Whether nothing that is known of was lost, and the keyring is whole.
  public var isComplete: Bool {
    lossCount == 0 && staleBelow == 0 && (keyring == .sound || keyring == .mended)
  }
}

extension SalvageSummary {
  /// - Parameters:
  ///   - report: What the journal saved.
  ///   - keyring: What became of the keyring.
  ///   - broughtAlong: The collections whose schemas were saved from their second copy.
  init(_ report: SalvageReport, keyring: KeyringOutcome, broughtAlong: Set<UInt16>) {
    storeID = RecordID(report.storeID).description
    recordCount = report.recordCount
    chunkCount = report.chunkCount
    byteCount = report.byteCount
    deletedCount = report.deletedCount
    olderVersions = report.possiblyStale.map { RecordID($0) }
    staleBelow = report.staleBelow
    self.keyring = keyring
    files = report.files
    headerless = report.headerless
    doubled = report.doubled
    foreign = report.foreign
    let losses = report.losses.filter { loss in
      guard loss.kind == .record, let number = loss.record.flatMap(SchemaRecord.number) else { return true }
      return !broughtAlong.contains(UInt16(number))
    }
    lossCount = report.lossCount - (report.losses.count - losses.count)
    self.losses = losses.map(Loss.init)
  }
}

extension SalvageSummary.Loss {
  fileprivate init(_ loss: SalvageReport.Loss) {
    switch loss.kind {
    case .missingSegment:
      kind = .missingSegment
      message = "the segment is missing"
    case .unreadableFile:
      kind = .unreadableFile
      message = "not one frame was found in it"
    case .unreadableBytes:
      kind = .unreadableBytes
      message = "\(loss.byteCount) bytes can't be read"
    case .lostFrames:
      kind = .lostFrames
      message = "\(loss.byteCount) bytes where frames were do not check"
    case .record:
      kind = .record
      message = Self.lostRecord(loss.record)
    case .uncommitted:
      kind = .uncommitted
      message = "\(loss.byteCount) bytes of a transaction that is not whole, and may never have been durable"
    case .chunks:
      kind = .largeValue
      message = "parts of a large value of the record are missing"
    }
    file = loss.file.isEmpty ? nil : loss.file
    segment = loss.segment.map(Int.init)
    offset = loss.offset
    byteCount = loss.byteCount
    record = loss.record.map { RecordID($0) }
  }

  /// A schema is a record too, and whose loss weighs more than others.
  private static func lostRecord(_ key: RecordKey?) -> String {
    guard let key, let number = SchemaRecord.number(key) else {
      return "the record's newest version does not check"
    }
    return "the schema of collection \(number): its records were saved, but can't be shown by name"
  }
}
