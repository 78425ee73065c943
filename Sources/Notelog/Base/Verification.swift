// What verifying a store found: data, made by whoever looks at bytes.

/// What verifying a store found.
public struct Verification: Sendable {
  /// What is verified, part by part.
  public enum Part: String, Sendable, CaseIterable {
    /// Segments, frames, checksums and the live set.
    case structure
    /// The checkpoint of the index.
    case index
    /// The two copies of the keyring.
    case keyring
    /// Records, as their schemas describe them.
    case records
    /// What authenticates sealed values; looked at with a key only.
    case tags
  }

  /// Something that is not as it should be.
  public struct Finding: Sendable, Hashable {
    /// The part that it is found in.
    public let part: Part
    /// Whether it is damage, and not merely something to know.
    public let isDamage: Bool
    /// What it is, in words.
    public let message: String
    /// The segment, where it is about one.
    public let segment: Int?
    /// The offset in the segment.
    public let offset: Int?
    /// The record, where it is about one.
    public let record: RecordID?
  }

  /// A record that is lost.
  public struct LostRecord: Sendable, Hashable {
    /// Its id.
    public let id: RecordID
    /// The name of its collection; nil where its schema is lost too.
    public let collection: String?
    /// The revision that is lost, which was its newest.
    public let revision: UInt64
  }

  /// What is wrong, or should be known, in the order in which it was found.
  public internal(set) var findings: [Finding] = []
  /// The records that are lost, where a frame's header or a footer says which they are.
  public internal(set) var lostRecords: [LostRecord] = []
  /// How many records are known to be lost. Those that are not among `lostRecords` only the index knows, which has no ids: reading a record by
  /// such an id throws `damaged`.
  public internal(set) var lostRecordCount = 0
  /// How many bytes were cut, or would be when the store is opened: what a crash leaves. Nothing in the store says that they were
  /// durable; the last of them may have been.
  public internal(set) var tornByteCount = 0
  /// How many segments were read.
  public internal(set) var segmentCount = 0
  /// How many frames were checked.
  public internal(set) var frameCount = 0
  /// How many bytes were read.
  public internal(set) var byteCount = 0
  /// How many records were read by their schemas.
  public internal(set) var recordCount = 0
  /// How many sealed values were opened; 0 where no credential was given.
  public internal(set) var openedCount = 0
  /// Whether a credential was given, so that tags could be checked.
  public internal(set) var wasUnlocked = false
  /// How many sealed values could not be looked into because their key is locked.
  public internal(set) var lockedCount = 0
  /// How many sealed values nothing opens any more, as their key was shredded or its effaceable file is not here. That is no damage.
  public internal(set) var shreddedCount = 0
  /// What the backup is, where it is one that was verified; nil for a store.
  public internal(set) var backup: Backup?

  /// What is known of a backup that was verified.
  public struct Backup: Sendable, Hashable {
    /// The store that it is a backup of; nil where its manifest can't be read.
    public let storeID: RecordID?
    /// How many files it consists of, the keyring and the manifest not counted.
    public let partCount: Int
  }

  /// The verdict on all that was checked.
  public var condition: StoreCondition {
    findings.contains(where: \.isDamage) ? .damaged : tornByteCount > 0 ? .torn : .sound
  }

  /// Whether nothing in a part is damaged.
  public func isSound(_ part: Part) -> Bool { !findings.contains { $0.part == part && $0.isDamage } }

  mutating func add(_ error: NotelogError, _ part: Part) { findings.append(Finding(error, part)) }

  mutating func add(_ message: String, _ part: Part, isDamage: Bool) {
    findings.append(Finding(message, part, isDamage: isDamage))
  }
}

/// How a store was left, or what verifying it found.
public enum StoreCondition: String, Sendable {
  /// Nothing is wrong.
  case sound
  /// A tail was cut that nothing says was durable: what a crash leaves.
  case torn
  /// Durable bytes are broken or missing; ``Store/damage`` says what that means.
  case damaged
}

extension Verification.Finding: CustomStringConvertible {
  /// What was found and where, in words, on one line.
  public var description: String {
    let place = [
      segment.map { "segment \($0)" }, offset.map { "offset \($0)" }, record.map { "record \($0)" },
    ].compactMap { $0 }
    return place.isEmpty ? message : "\(message) (\(place.joined(separator: ", ")))"
  }
}

extension Damage {
  /// The damage in words.
  fileprivate var words: String {
    switch kind {
    case .missingSegment: "the segment is missing"
    case .unreadableSegment: "no copy of the segment's header checks"
    case .headerCopy: "one copy of the segment's header differs, another serves"
    case .foreignSegment: "the segment belongs to another store, or under another name"
    case .replacedSegment: "the segment is not the one that the store means"
    case .truncated: "the segment ends too early"
    case .unreadableBytes: "\(byteCount) bytes can't be read"
    case .lostFrames: "\(byteCount) bytes where frames were do not check"
    case .payload: "a frame's content does not check"
    case .footer: "the segment's footer does not check"
    case .liveSet: "the segment's live set does not check"
    case .notZero: "bytes that must be zero are not"
    case .commitMark: "a commit mark does not match its transaction"
    case .closeMark: "the mark of the last close does not check"
    case .chunks: "a record refers to a large value of which chunks are missing"
    case .backupFile: "the backup's file of the segment is not as it was written"
    case .endsBeforeBackup:
      "the store's log ends before its backup does, which stays as it is; a store that was restored or salvaged needs a new backup folder"
    }
  }
}

extension Verification.Finding {
  /// Something in a record that can't be read.
  init(_ error: NotelogError, _ record: RecordID) {
    self.init(error, error.code == .tampered ? .tags : .records, record)
  }

  /// What an error says.
  init(_ error: NotelogError, _ part: Verification.Part, _ record: RecordID? = nil) {
    self.init(
      part: part, isDamage: true, message: error.message, segment: error.segment.map(Int.init),
      offset: error.offset.map(Int.init), record: record)
  }

  /// Something that is about no place in the log.
  init(_ message: String, _ part: Verification.Part, isDamage: Bool) {
    self.init(part: part, isDamage: isDamage, message: message, segment: nil, offset: nil, record: nil)
  }

  init(_ damage: Damage) {
    self.init(
      part: .structure, isDamage: true, message: damage.words, segment: Int(damage.segment),
      offset: damage.offset, record: damage.record.map { RecordID($0) })
  }
}
