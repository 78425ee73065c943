// What opens fields: the keys, and a count of what was opened.

import NotelogBase
import NotelogCrypto
import Synchronization

/// Opens fields of a store's records.
///
/// An object, so that handing it on counts nothing: as a value, each of what it holds would be counted up and
/// down for every field, in memory that all threads share.
final class FieldOpener: Sendable {
  let vault: Vault
  let metrics: FieldMetrics
  let journal: Journal
  /// The sealed chunks, one behind the other, of values that the transaction which reads has written itself:
  /// they are not in the journal yet.
  private let pending: [ID16: [UInt8]]

  init(vault: Vault, metrics: FieldMetrics, journal: Journal, pending: [ID16: [UInt8]] = [:]) {
    self.vault = vault
    self.metrics = metrics
    self.journal = journal
    self.pending = pending
  }

  /// The same for records with chunks that are not in the journal yet.
  func reading(_ pending: [ID16: [UInt8]]) -> FieldOpener {
    FieldOpener(vault: vault, metrics: metrics, journal: journal, pending: pending)
  }

  /// The sealed bytes of a chunk that is not in the journal yet; nil where its value is none of those.
  func pendingChunk(_ number: Int, of value: ID16) -> [UInt8]? {
    guard let all = pending[value] else { return nil }
    let start = number * (Limits.chunkBytes + RecordBody.sealOverhead)
    return Array(all[start..<min(all.count, start + Limits.chunkBytes + RecordBody.sealOverhead)])
  }

  /// Why a value was not opened.
  func refusal(_ error: CryptoError, _ place: String) -> NotelogError {
    error == .closed
      ? .closed(journal.path) : NotelogError(crypto: error, place)
  }

  /// Calls `body` with the value's bytes: a presence byte if the plan says optional, then the value.
  ///
  /// For single values; whoever opens many keeps an ``Opening``.
  func open<Result>(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ use: (RawSpan) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    var opening = Opening()
    try opening.load(entry, in: body, of: id, index, plan, self)
    return try use(opening.bytes)
  }
}

extension CollectionPlan {
  /// A field's name behind its collection's, for messages.
  func name(of index: Int) -> String { "\(schema.name).\(fields[index].name)" }

  /// A field's place, for messages.
  func place(_ index: Int, _ id: RecordID) -> String { "\(name(of: index)) of record \(id)" }
}

// MARK: - A field on its way back: checked against what the schema permits, opened, unpadded, inflated.

/// Memory that values are opened in, and the keys that opened the last ones.
///
/// It belongs to one thread, which uses it for one value after another: nothing is allocated, no lock is
/// taken, and no object that other threads use is counted up and down. Keys that were wiped since are asked
/// for anew.
struct Opening: ~Copyable {
  private static let othersMax = 7

  /// The value opened last, with what padding there is around it.
  private var memory = Buffer(capacity: 960, isSecret: true)
  private var range = 0..<0
  /// The key that opened the last value; taken out and put back, it is not counted.
  private var latest: HeldKey?
  /// Others that opened values before.
  private var others: [HeldKey] = []

  /// The value loaded last: a presence byte if its plan says optional, then the value.
  var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get { memory.bytes.extracting(range) }
  }

  /// Forgets the value, and overwrites it.
  mutating func wipe() {
    memory.wipe()
    range = 0..<0
  }

  /// Calls `use` with a value's bytes, which are overwritten afterwards if they were sealed.
  mutating func open<Result>(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ opener: FieldOpener, _ use: (RawSpan) throws -> Result
  ) throws -> Result {
    if !entry.flags.contains(.sealed), plan.fields[index].isOptional == entry.flags.contains(.optional) {
      try plan.check(entry, index, id, in: body)
      return try use(body.extracting(entry.range))
    }
    try load(entry, in: body, of: id, index, plan, opener)
    defer { wipe() }
    return try use(bytes)
  }

  /// Opens a value into this memory, where it stays until the next one or ``wipe()``.
  ///
  /// Type, flags and key are what the directory says, compared with what the schema permits, and then
  /// authenticated: record, field and store are the caller's.
  mutating func load(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ opener: FieldOpener
  ) throws(NotelogError) {
    wipe()
    try plan.check(entry, index, id, in: body)
    let value = body.extracting(entry.range)
    // A value written before its field became optional gets the presence byte that it lacks.
    let presence = plan.fields[index].isOptional && !entry.flags.contains(.optional) ? 1 : 0
    let isSealed = entry.flags.contains(.sealed)
    do throws(NotelogError) {
      if entry.flags.contains(.chunked) {
        try assemble(entry, in: body, of: id, index, plan, opener, at: presence)
      } else {
        let plainCount = value.byteCount - (isSealed ? RecordBody.sealOverhead : 0)
        memory.resizeForReading(to: presence + plainCount)
        if isSealed {
          try unseal(value, entry, id, index, plan, opener, to: presence)
          opener.metrics.count(plainCount)
        } else {
          var target = memory.mutableBytes
          target.copy(value, at: presence)
        }
      }
      if presence == 1 {
        var target = memory.mutableBytes
        target.store(1 as UInt8, at: 0)
      }
      range = 0..<memory.count
      if entry.flags.contains(.padded) { try unpad(from: presence, id, index, plan) }
      if entry.flags.contains(.compressed) { try inflate(from: presence, id, index, plan) }
    } catch {
      // What does not open, or can't be taken out of what is around it, leaves nothing behind: INV-E2.
      wipe()
      throw error
    }
  }

  /// Opens all of a large value into the memory, behind the presence byte that it may lack.
  private mutating func assemble(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ opener: FieldOpener, at presence: Int
  ) throws(NotelogError) {
    let chunks = try ChunkOpener(opener, entry, in: body, of: id, index, plan)
    let byteCount = chunks.reference.byteCount
    guard byteCount <= Limits.recordBytes + 1 else {
      throw NotelogError(
        .limitExceeded, "\(plan.place(index, id)) has \(byteCount) bytes, more than can be read at once"
      ).of(id)
    }
    opener.metrics.count(0)
    memory.resizeForReading(to: presence + byteCount)
    try chunks.open(0..<byteCount) { (part, offset) throws(NotelogError) in
      var target = memory.mutableBytes
      target.copy(part, at: presence + offset)
    }
  }

  /// Takes bytes as they are.
  mutating func load(plain bytes: [UInt8]) {
    wipe()
    memory.append(bytes.rawSpan)
    range = 0..<memory.count
  }

  /// Opens a sealed value into the memory from a place on.
  private mutating func unseal(
    _ value: RawSpan, _ entry: FieldEntry, _ id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ opener: FieldOpener, to start: Int
  ) throws(NotelogError) {
    let reference = KeyReference(rawValue: entry.keyReference)
    let data = plan.additionalData(entry, index, id)
    do throws(CryptoError) {
      if let held = takeKey(reference, of: opener.vault) {
        // One that a lock has wiped is not put back: there may be a new one since.
        do throws(CryptoError) { return try open(value, data, under: held, to: start) } catch {
          guard case .locked = error else { throw error }
        }
      }
      let key = try opener.vault.sealingKey(reference)
      try open(value, data, under: HeldKey(key, opener.vault), to: start)
    } catch { throw opener.refusal(error, plan.place(index, id)).of(id) }
  }

  private mutating func open(
    _ value: RawSpan, _ data: AdditionalData, under key: consuming HeldKey, to start: Int
  ) throws(CryptoError) {
    var all = memory.mutableBytes
    var plaintext = all.part(from: start)
    try key.open(value, additionalData: data.bytes, into: &plaintext)
    if let former = latest.take() {
      if others.count == Self.othersMax { others.removeAll() }
      others.append(former)
    }
    latest = key
  }

  /// Takes a key out of those that are held.
  private mutating func takeKey(_ reference: KeyReference, of vault: Vault) -> HeldKey? {
    if let key = latest.take() {
      if key.isNamed(reference, of: vault) { return key }
      latest = key
    }
    return others.firstIndex { $0.isNamed(reference, of: vault) }.map { others.remove(at: $0) }
  }

  private mutating func unpad(
    from start: Int, _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) {
    let count: Int
    do { count = try Padding.valueCount(in: memory.bytes.extracting(droppingFirst: start)) } catch {
      throw NotelogError(crypto: error, plan.place(index, id)).of(id)
    }
    range = 0..<start + count
  }

  /// Replaces a length of four bytes and a zlib stream by what they hold.
  private mutating func inflate(
    from start: Int, _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) {
    guard var value = Self.inflated(bytes.extracting(droppingFirst: start)) else {
      throw NotelogError(.damaged, "\(plan.place(index, id)): the compressed value is broken").of(id)
    }
    let end = start + value.count
    memory.appendZeros(max(end - memory.count, 0))
    var target = memory.mutableBytes
    target.copy(value.rawSpan, at: start)
    value.wipe()
    range = 0..<end
  }

  private static func inflated(_ packed: RawSpan) -> [UInt8]? {
    guard packed.byteCount > 4, packed.load(UInt32.self, at: 0) <= Limits.recordBytes else { return nil }
    return packed.extracting(droppingFirst: 4).inflated(to: Int(packed.load(UInt32.self, at: 0)))
  }
}

// MARK: - A key that one thread keeps at hand.

/// A data key, held by an object of one thread's own: using it counts nothing up and down that other threads
/// use too.
///
/// That holds within its methods. Whoever takes the key out of it to use it, counts.
final class HeldKey {
  let key: SealingKey
  private let vault: Vault

  init(_ key: SealingKey, _ vault: Vault) {
    self.key = key
    self.vault = vault
  }

  /// Whether it is a vault's key of that name.
  func isNamed(_ reference: KeyReference, of vault: Vault) -> Bool {
    // By number: comparing references goes through what the runtime knows of the type.
    key.reference.rawValue == reference.rawValue && self.vault === vault
  }

  /// Seals a value.
  func seal(
    _ plaintext: RawSpan, additionalData: RawSpan, nonces: inout NonceRun, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    try key.seal(plaintext, additionalData: additionalData, nonces: &nonces, into: &output)
  }

  /// Opens a value.
  func open(
    _ sealed: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    try key.open(sealed, additionalData: additionalData, into: &output)
  }
}

// MARK: - How many sealed fields were opened.

/// Counts what was opened, so that a test can say that nothing else was.
public final class FieldMetrics: Sendable, Opaque {
  /// The counts of fields and of bytes of some of the threads, on two cache lines of their own: threads that
  /// open fields side by side don't pull one line to and fro.
  private let counts: InlineArray<128, Atomic<Int>>
  private static let shareStride = 16

  init() { counts = InlineArray { _ in Atomic(0) } }

  /// How many sealed fields were opened.
  public var fieldsOpened: Int { sum(from: 0) }

  /// How many bytes of plaintext they had, padding included.
  public var bytesOpened: Int { sum(from: 1) }

  private func sum(from place: Int) -> Int {
    stride(from: place, to: counts.count, by: Self.shareStride).reduce(0) { sum, place in
      sum + counts[place].load(ordering: .relaxed)
    }
  }

  /// Counts a value; chunks of a large one have none of their own.
  func count(_ byteCount: Int, fields: Int = 1) {
    let share = (threadNumber & 7) * Self.shareStride
    counts[share].add(fields, ordering: .relaxed)
    counts[share + 1].add(byteCount, ordering: .relaxed)
  }
}
