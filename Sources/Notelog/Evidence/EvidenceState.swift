// What all records of a store add up to, as somebody with the key wrote it down: FORMAT.md §27.

import NotelogBase
import NotelogCrypto
import NotelogFormat

/// What some records add up to under the keys of one generation.
struct EvidenceSums: Equatable, Sendable {
  /// Of their ids and revisions.
  var roll: UInt128 = 0
  /// Of their seals.
  var seals: UInt128 = 0

  static func += (sums: inout EvidenceSums, more: EvidenceSums) {
    sums.roll &+= more.roll
    sums.seals &+= more.seals
  }

  static func -= (sums: inout EvidenceSums, less: EvidenceSums) {
    sums.roll &-= less.roll
    sums.seals &-= less.seals
  }
}

/// The state of a store after a transaction.
struct EvidenceState: Equatable, Sendable {
  static let generationsMax = 8
  static let writersMax = 16
  private static let headByteCount = 64
  private static let generationByteCount = 48
  private static let writerByteCount = 16

  /// The records since one generation of the key was in force.
  struct Generation: Equatable, Sendable {
    /// 0 for those from before evidence was kept: they have no seals, and count in no sum.
    let reference: UInt32
    var start: UInt64
    var sums = EvidenceSums()
  }

  /// Who has written, and the last transaction of theirs.
  struct Writer: Equatable, Sendable {
    let id: UInt64
    var last: UInt64
  }

  /// Whether a version was replaced that could not be read: then nobody knows any longer what the seals add up to.
  var hasReplacedLost = false
  var isAccepted = false
  var time: UInt64 = 0
  var keyringGeneration: UInt64 = 0
  /// The beginning of the keyring's digest: another copy's may have the same generation.
  var keyringDigest: UInt64 = 0
  /// What the MACs of all schemas come to.
  var schemas = ID16.zero
  /// The beginning of the branch's id.
  var branch: UInt64 = 0
  var recordCount: UInt64 = 0
  /// No writer that is not listed has written behind it.
  var othersLast: UInt64 = 0
  var generations: [Generation]
  var writers: [Writer] = []

  /// The place of the generation that a revision falls into.
  func generation(of revision: UInt64) -> Int {
    generations.lastIndex { $0.start <= revision } ?? 0
  }

  /// The reference of what a record of a revision has its seal under; 0 where it has none.
  func reference(of revision: UInt64) -> UInt32 { generations[generation(of: revision)].reference }

  /// Notes that a writer has written. Another makes room: the one of the head that the writer has, or who wrote longest
  /// ago.
  mutating func note(_ writer: UInt64, instead earlier: UInt64? = nil, at sequence: UInt64) {
    func place(of id: UInt64?) -> Int? { writers.firstIndex { $0.id == id } }
    if let place = place(of: writer) { return writers[place].last = sequence }
    let oldest = writers.indices.min { writers[$0].last < writers[$1].last }
    if let goes = place(of: earlier) ?? (writers.count == Self.writersMax ? oldest : nil) {
      othersLast = max(othersLast, writers.remove(at: goes).last)
    }
    writers.append(Writer(id: writer, last: sequence))
  }
}

// MARK: - Its bytes.

extension EvidenceState {
  /// How long it is, before it is sealed.
  var byteCount: Int {
    Self.headByteCount + Self.generationByteCount * generations.count + Self.writerByteCount * writers.count
  }

  func append(to buffer: inout Buffer) {
    let start = buffer.count
    buffer.appendZeros(byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(keyringDigest << 24, at: start)
    bytes.store((hasReplacedLost ? 1 : 0) | (isAccepted ? 2 : 0) as UInt8, at: start)
    bytes.store(UInt8(generations.count), at: start + 1)
    bytes.store(UInt8(writers.count), at: start + 2)
    for (index, word) in [
      time, keyringGeneration, schemas.low, schemas.high, branch, recordCount, othersLast,
    ]
    .enumerated() { bytes.store(word, at: start + 8 + 8 * index) }
    var place = start + Self.headByteCount
    for generation in generations {
      bytes.store(generation.reference, at: place)
      bytes.store(generation.start, at: place + 8)
      bytes.store(generation.sums.roll, at: place + 16)
      bytes.store(generation.sums.seals, at: place + 32)
      place += Self.generationByteCount
    }
    for writer in writers {
      bytes.store(writer.id, at: place)
      bytes.store(writer.last, at: place + 8)
      place += Self.writerByteCount
    }
  }

  /// Reads one that was opened; nothing where nobody could have written it.
  init?(_ bytes: RawSpan) {
    guard bytes.byteCount >= Self.headByteCount else { return nil }
    let (generationCount, writerCount) = (Int(bytes.byte(at: 1)), Int(bytes.byte(at: 2)))
    guard bytes.byte(at: 0) < 4, 1...Self.generationsMax ~= generationCount, writerCount <= Self.writersMax
    else { return nil }
    hasReplacedLost = bytes.byte(at: 0) & 1 != 0
    isAccepted = bytes.byte(at: 0) & 2 != 0
    keyringDigest = bytes.load(UInt64.self, at: 0) >> 24
    time = bytes.load(UInt64.self, at: 8)
    keyringGeneration = bytes.load(UInt64.self, at: 16)
    schemas = ID16(bytes, at: 24)
    branch = bytes.load(UInt64.self, at: 40)
    recordCount = bytes.load(UInt64.self, at: 48)
    othersLast = bytes.load(UInt64.self, at: 56)
    (generations, writers) = ([], [])
    guard
      bytes.byteCount == Self.headByteCount + Self.generationByteCount * generationCount
        + Self.writerByteCount * writerCount
    else { return nil }
    var place = Self.headByteCount
    for _ in 0..<generationCount {
      guard let reference = UInt32(exactly: bytes.load(UInt64.self, at: place)) else { return nil }
      let sums = EvidenceSums(
        roll: bytes.load(UInt128.self, at: place + 16), seals: bytes.load(UInt128.self, at: place + 32))
      generations.append(
        Generation(reference: reference, start: bytes.load(UInt64.self, at: place + 8), sums: sums))
      place += Self.generationByteCount
    }
    for _ in 0..<writerCount {
      writers.append(
        Writer(id: bytes.load(UInt64.self, at: place), last: bytes.load(UInt64.self, at: place + 8)))
      place += Self.writerByteCount
    }
    guard generations[0].start == 0,
      zip(generations, generations.dropFirst()).allSatisfy({ $0.start < $1.start })
    else { return nil }
  }
}

// MARK: - The keys that it is made with.

/// The keys of one generation of evidence.
final class EvidenceKeys: Sendable {
  /// What states are sealed under.
  let data: SealingKey
  let record: SealingKey
  let version: SealingKey
  let seal: SealingKey
  private let storeID: ID16

  init(_ data: SealingKey, of storeID: ID16) throws(CryptoError) {
    func derived(_ purpose: String) throws(CryptoError) -> SealingKey {
      try data.derived("NL1/evidence/" + purpose, store: storeID)
    }
    self.data = data
    self.storeID = storeID
    (record, version, seal) = (try derived("record"), try derived("version"), try derived("seal"))
  }

  /// Those of a generation: the ones that are known, if they are and were not wiped.
  static func of(
    _ reference: UInt32, _ vault: Vault, known: EvidenceKeys? = nil
  ) throws(NotelogError) -> EvidenceKeys {
    let place = "the store's evidence"
    let data = try vault.sealingKey(reference, for: place)
    if let known, known.data === data { return known }
    return try naming(place, EvidenceKeys(data, of: vault.keyring.storeID))
  }

  /// Those in force; nil where the store keeps no evidence.
  static func inForce(_ vault: Vault, known: EvidenceKeys? = nil) throws(NotelogError) -> EvidenceKeys? {
    let reference = vault.evidence.reference
    return reference == 0 ? nil : try of(reference, vault, known: known)
  }

  /// The reference of the generation.
  var reference: UInt32 { data.reference.rawValue }

  /// The seal of a record.
  func seal(
    _ id: ID16, _ collection: UInt16, hasEnvelope: Bool, _ payload: RawSpan
  ) throws(CryptoError) -> ID16 {
    let second = ID16(low: UInt64(collection) | (hasEnvelope ? 1 << 16 : 0), high: 0)
    return try record.authenticate(id, second, payload)
  }

  /// What a head says of a state.
  func tag(of state: EvidenceState) throws(CryptoError) -> UInt64 {
    var bytes = Buffer()
    state.append(to: &bytes)
    let head = try data.derived("NL1/evidence/head", store: storeID)
    return try head.authenticate(.zero, .zero, bytes.bytes).low
  }

  /// What is sealed together with a state.
  static func additionalData(_ storeID: ID16, _ sequence: UInt64, _ reference: UInt32) -> Buffer {
    var data = Buffer(capacity: 40)
    data.append(0x6574_6174_7331_4C4E, storeID.low, storeID.high, sequence)
    data.append(UInt64(reference), 0, 0, 0)
    data.truncate(to: 40)
    return data
  }
}

/// Adds up records under the keys of one generation.
enum EvidenceTally {
  typealias Element = (id: ID16, revision: UInt64, seal: ID16?)
  /// How many are best added up at a time.
  static let pieceCount = 256

  /// What some records come to. One whose seal is lost counts without it.
  static func sums(of records: [Element], _ keys: EvidenceKeys) throws(CryptoError) -> EvidenceSums {
    var blocks = Buffer(capacity: 16 * records.count)
    for record in records { append(record.id, to: &blocks) }
    try encrypt(&blocks, under: keys.version)
    do {
      var bytes = blocks.mutableBytes
      for (index, record) in records.enumerated() {
        let word = bytes.bytes.load(UInt64.self, at: 16 * index)
        bytes.store(word ^ record.revision, at: 16 * index)
      }
    }
    try encrypt(&blocks, under: keys.version)
    let roll = sum(blocks)
    blocks.removeAll()
    for record in records { if let seal = record.seal { append(seal, to: &blocks) } }
    try encrypt(&blocks, under: keys.seal)
    return EvidenceSums(roll: roll, seals: sum(blocks))
  }

  private static func append(_ block: ID16, to blocks: inout Buffer) {
    let start = blocks.count
    blocks.appendZeros(16)
    var bytes = blocks.mutableBytes
    block.write(into: &bytes, at: start)
  }

  private static func encrypt(_ blocks: inout Buffer, under key: SealingKey) throws(CryptoError) {
    guard blocks.count > 0 else { return }
    var bytes = blocks.mutableBytes
    try key.encrypt(&bytes)
  }

  private static func sum(_ blocks: borrowing Buffer) -> UInt128 {
    let bytes = blocks.bytes
    return stride(from: 0, to: bytes.byteCount, by: 16).reduce(0) { $0 &+ bytes.load(UInt128.self, at: $1) }
  }
}
