// What salvaging a store saved, and what it could not.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// What became of a store that was salvaged.
public struct SalvageSummary: Sendable {
  /// Something that could not be saved.
  public struct Loss: Sendable, Hashable {
    /// Which kind of loss it is.
    public enum Kind: String, Sendable, CaseIterable {
      /// A segment that the store counts as its own is not there.
      case missingSegment
      /// A file in which not one frame was found, or that can't be opened: it may be a link, or for others only.
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
    /// There is one that can't be opened: it may be a link, or for others only. It was left where it is.
    case unreadable
    /// There is none: what is sealed stays so until a keyring is restored from a backup.
    case missing
  }

  private let report: SalvageReport
  /// The store's id: the new store has it too.
  public var storeID: String { RecordID(report.storeID).description }
  /// How many records were saved, the store's own not counted.
  public let recordCount: Int
  /// How many chunks of large values were saved.
  public var chunkCount: Int { report.chunkCount }
  /// The bytes of what was saved.
  public var byteCount: Int { report.byteCount }
  /// How many records were left out because their newest version is a deletion.
  public var deletedCount: Int { report.deletedCount }
  /// Records that were saved in an older version, since their newest is lost.
  public var olderVersions: [RecordID] { report.possiblyStale.map { RecordID($0) } }
  /// Where this is not 0, a saved record with a lower revision may have had a newer version, or may have been deleted, in
  /// what is lost.
  public var staleBelow: UInt64 { report.staleBelow }
  /// How many records the index places where frames are lost, beside those named: their ids are not known.
  public var unnamedRecordCount: Int { report.unnamedRecordCount }
  /// What became of the keyring.
  public let keyring: KeyringOutcome
  /// The file that the keyring was found in, where that is neither `keyring` nor `keyring.copy`: it is the newest that the credential opens,
  /// or these two don't serve.
  public let keyringFile: String?
  /// The names under which other keyrings of the store came along, beside the one in force: nobody knows without a key which is the store's.
  public let furtherKeyrings: [String]
  /// The files that frames were read from.
  public var files: [String] { report.files }
  /// Of these, files without a readable header.
  public var headerless: [String] { report.headerless }
  /// Of these, further copies of another one.
  public var doubled: [String] { report.doubled }
  /// Files of other stores, which were left out.
  public var foreign: [String] { report.foreign.map(\.name) }
  /// The stores that these are of.
  public var foreignStores: [String] {
    Set(report.foreign.map(\.storeID)).sorted().map { RecordID($0).description }
  }
  /// How many losses there are; the first hundred thousand are in ``losses``.
  public let lossCount: Int
  /// What could not be saved.
  public let losses: [Loss]

  /// Whether something was read, nothing that is known of was lost, and the keyring is whole.
  public var isComplete: Bool {
    !files.isEmpty && (recordCount > 0 || report.foreign.isEmpty) && lossCount == 0 && staleBelow == 0
      && (keyring == .sound || keyring == .mended)
  }
}

extension SalvageSummary {
  /// - Parameters:
  ///   - report: What the journal saved.
  ///   - keyring: What became of the keyring.
  ///   - keyringFile: The file that it was found in under another name.
  ///   - furtherKeyrings: The names of those that lie beside it.
  ///   - schemas: The schemas of what was saved.
  init(
    _ report: SalvageReport, keyring: KeyringOutcome, from keyringFile: String?, _ furtherKeyrings: [String],
    _ schemas: SchemaCopies
  ) {
    self.report = report
    self.keyring = keyring
    self.keyringFile = keyringFile
    self.furtherKeyrings = furtherKeyrings
    recordCount = report.recordCount - schemas.countInLog
    // A schema that was lost in the log came along from its second copy.
    let losses = report.losses.filter { loss in
      guard loss.kind == .record, let number = loss.record.flatMap(SchemaRecord.number) else { return true }
      return !schemas.fromFile.contains(UInt16(number))
    }
    lossCount = report.lossCount - (report.losses.count - losses.count)
    self.losses = losses.map(Loss.init)
  }
}

extension SalvageSummary.Loss {
  fileprivate init(_ loss: SalvageReport.Loss) {
    (kind, message) =
      switch loss.kind {
      case .missingSegment: (.missingSegment, "the segment is missing")
      case .unreadableFile where loss.errno != 0:
        (.unreadableFile, "it can't be read: \(SystemErrno.message(loss.errno))")
      case .unreadableFile: (.unreadableFile, "not one frame was found in it")
      case .unreadableBytes: (.unreadableBytes, "\(loss.byteCount) bytes can't be read")
      case .lostFrames: (.lostFrames, "\(loss.byteCount) bytes where frames were do not check")
      case .record: (.record, Self.lostRecord(loss.record))
      case .uncommitted:
        (
          .uncommitted,
          "\(loss.byteCount) bytes of a transaction that is not whole, and may never have been durable"
        )
      case .chunks: (.largeValue, "parts of a large value of the record are missing")
      }
    file = loss.file.isEmpty ? nil : loss.file
    segment = loss.segment.map(Int.init)
    offset = loss.offset
    byteCount = loss.byteCount
    record = loss.record.map { RecordID($0) }
  }

  /// A schema is a record too, and whose loss weighs more than others.
  private static func lostRecord(_ key: ID16?) -> String {
    guard let key, let number = SchemaRecord.number(key) else {
      return "the record's newest version does not check"
    }
    return "the schema of collection \(number): its records were saved, but can't be shown by name"
  }
}
