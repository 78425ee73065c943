// What verifying a store found: data, made by whoever looks at bytes.

import NotelogFormat

/// What verifying a store found.
public struct Verification: Sendable {
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
  public var findings: [Finding] { report.damages + others }
  /// The records that are lost, where a frame's header or a footer says which they are.
  public internal(set) var lostRecords: [LostRecord] = []
  /// How many records are known to be lost. Those that are not among `lostRecords` only the index knows,
  /// which has no ids: reading a record by such an id throws `damaged`.
  public internal(set) var lostRecordCount = 0
  /// How many bytes were cut, or would be when the store is opened: what a crash leaves. Nothing in the store
  /// says that they were durable; the last of them may have been.
  public var tornByteCount: Int { report.tornByteCount }
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
  /// How many sealed values nothing opens any more, as their key was shredded or its effaceable file is not
  /// here. That is no damage.
  public internal(set) var shreddedCount = 0
  /// The segment that a scrub goes on with; nil where its round has come to its end.
  public internal(set) var next: Int?
  /// Whether the store keeps evidence.
  public internal(set) var keepsEvidence = false
  /// What the audit of a store that keeps evidence found, which is among the findings too; nil where no credential was
  /// given.
  public internal(set) var audit: Audit?
  /// Of an archive, how many objects the moment consists of, the keyring not counted; nil for a store.
  public internal(set) var archivedObjectCount: Int?
  /// Of an archive, the last transaction of the moment; nil for a store.
  public internal(set) var archivedRevision: UInt64?

  /// What opening the store found, and what reading every byte found besides.
  var report = RecoveryReport()
  /// What was found beside the log, or is no damage to it.
  private var others: [Finding] = []
  /// Current records whose frames do not check, where a frame's header or a footer says which they are.
  var lost: [FooterEntry] = []
  /// How the index that an opening would take differs from what the segments say.
  var index = IndexComparison()
  /// The number that the next transaction will have.
  var nextSequence: UInt64?

  /// The verdict on all that was checked.
  public var verdict: Verdict {
    if report.verdict == .unproven { return .unproven }
    return findings.contains(where: \.isDamage) ? .contained : tornByteCount > 0 ? .torn : .sound
  }

  /// Whether nothing in a part is damaged.
  public func isSound(_ part: Finding.Part) -> Bool { !findings.contains { $0.part == part && $0.isDamage } }

  mutating func add(_ finding: Finding) { others.append(finding) }

  mutating func add(_ message: String, _ part: Finding.Part, isDamage: Bool) {
    add(Finding(message, part, isDamage: isDamage))
  }

  /// Adds what verifying a part of the log, or some of the records, found.
  mutating func add(_ part: Verification) {
    report.damages.add(part.report.damages)
    lost += part.lost
    segmentCount += part.segmentCount
    frameCount += part.frameCount
    byteCount += part.byteCount
    recordCount += part.recordCount
    openedCount += part.openedCount
    lockedCount += part.lockedCount
    shreddedCount += part.shreddedCount
  }
}

/// What an audit found.
public struct Audit: Sendable {
  /// The transaction that the store's evidence is of.
  public internal(set) var revision: UInt64 = 0
  var commitTime: UInt64 = 0
  /// Whether the store was restored or salvaged since: a head from before tells whether it is an older one now.
  public internal(set) var isRestored = false
  /// How many records were looked at.
  public internal(set) var recordCount = 0
  /// What is not as somebody with the key wrote it, or can't be told.
  public internal(set) var findings: [Finding] = []
  /// Whether what the store shows is exactly what it held at that revision.
  public var isSound: Bool { !findings.contains(where: \.isDamage) }
}

extension [Finding] {
  /// Adds findings, but for those that speak of the same bytes as one that is there.
  mutating func add(_ others: [Finding]) {
    for other in others {
      let isKnown = contains {
        $0.segment == other.segment && $0.kind == other.kind && $0.offset == other.offset
      }
      if !isKnown { append(other) }
    }
  }
}

extension Verification {
  /// Says what the checkpoint is like, where it does not serve, and how what an opening would take for the
  /// index differs from what the segments say.
  mutating func noteIndex() {
    switch report.checkpoint {
    case .missing, .used: break
    case .stale: add("index: of other segments; it is built anew", .index, isDamage: false)
    case .damaged: add("index: does not check; it is built anew", .index, isDamage: true)
    }
    if index.wrongEntryCount > 0 {
      let records = index.records.map { RecordID($0).description }.joined(separator: ", ")
      add(
        "index: names \(index.wrongEntryCount) records elsewhere than they are\(records.isEmpty ? "" : ", among them \(records)")",
        .index, isDamage: true)
    }
    if index.listsOtherSchemas { add("index: lists other schemas than there are", .index, isDamage: true) }
    // A power loss may leave one.
    if index.hasUnsoundOrder {
      add("index: an order in it does not check; it is built anew", .index, isDamage: false)
    }
    for order in index.orders {
      add(
        "index: its order of field \(order.fields.map(String.init).joined(separator: ", then ")) of collection \(order.collection) lacks keys that records have",
        .index, isDamage: true)
    }
    if !index.segments.isEmpty {
      let numbers = index.segments.prefix(5).map(String.init).joined(separator: ", ")
      add(
        "index: counts other live bytes than there are in \(index.segments.count) segments, among them \(numbers)",
        .index, isDamage: true)
    }
  }
}
