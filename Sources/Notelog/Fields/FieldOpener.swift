// A field on its way back: checked against what the schema permits, opened, unpadded, inflated.

import NotelogCrypto
import NotelogJournal
import Synchronization

/// Counts what was opened, so that a test can say that nothing else was.
public final class FieldMetrics: Sendable {
  private let opened = Atomic<Int>(0)
  private let bytes = Atomic<Int>(0)

  init() {}

  /// How many sealed fields were opened.
  public var fieldsOpened: Int { opened.load(ordering: .relaxed) }
  /// How many bytes of plaintext they had, padding included.
  public var bytesOpened: Int { bytes.load(ordering: .relaxed) }

  func count(_ byteCount: Int) {
    opened.add(1, ordering: .relaxed)
    bytes.add(byteCount, ordering: .relaxed)
  }
}

/// Opens fields of a store's records.
struct FieldOpener: Sendable {
  let vault: Vault
  let metrics: FieldMetrics

  /// Calls `body` with the value's bytes: a presence byte if the plan says optional, then the value.
  ///
  /// Type, flags and key are what the directory says, compared with what the schema permits, and then authenticated:
  /// record, field and store are the caller's.
  func open<Result>(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ use: (RawSpan) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    try check(entry, id, index, plan)
    let isOptional = plan.fields[index].field.isOptional
    let value = body.extracting(entry.range)
    guard entry.flags.contains(.sealed) else {
      return try withPresence(value, isOptional && !entry.flags.contains(.optional), use)
    }
    var plaintext = try unseal(value, entry, id, index, plan)
    defer { plaintext.wipe() }
    var count = plaintext.count
    if entry.flags.contains(.padded) {
      do { count = try Padding.valueCount(in: plaintext.rawSpan) } catch {
        throw NotelogError(crypto: error, plan.place(index, id))
      }
    }
    if entry.flags.contains(.compressed) {
      var inflated = try inflate(plaintext.rawSpan.extracting(first: count), id, index, plan)
      defer { inflated.wipe() }
      return try withPresence(inflated.rawSpan, isOptional && !entry.flags.contains(.optional), use)
    }
    return try withPresence(
      plaintext.rawSpan.extracting(first: count), isOptional && !entry.flags.contains(.optional), use)
  }

  private func check(
    _ entry: FieldEntry, _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) {
    let field = plan.fields[index].field
    guard entry.flags.contains(.sealed) == field.isSealed else {
      throw NotelogError(.tampered, "\(plan.place(index, id)): the value is not sealed as the schema says")
    }
    guard entry.type == field.type else {
      throw NotelogError(
        .typeMismatch,
        "\(plan.place(index, id)) holds a \(entry.type.name) value, not a \(field.type.name) one")
    }
    guard field.isOptional || !entry.flags.contains(.optional) else {
      throw NotelogError(.typeMismatch, "\(plan.place(index, id)) holds an optional value")
    }
    guard !field.isSealed || field.keys.contains(entry.keyReference) else {
      throw NotelogError(.tampered, "\(plan.place(index, id)): sealed under a key that the field never had")
    }
  }

  private func unseal(
    _ value: RawSpan, _ entry: FieldEntry, _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) -> [UInt8] {
    let reference = KeyReference(rawValue: entry.keyReference)
    let data = AdditionalData(
      store: plan.storeID, record: id.bytes16, name: plan.fields[index].nameHash, type: entry.type.rawValue,
      flags: UInt16(entry.flags.rawValue), key: reference)
    var plaintext = [UInt8](repeating: 0, count: value.byteCount - RecordBody.sealOverhead)
    do throws(CryptoError) {
      let key = try vault.sealingKey(reference)
      try plaintext.withBytes(in: 0..<plaintext.count) { (bytes: inout MutableRawSpan) throws(CryptoError) in
        try key.open(value, additionalData: data.bytes, into: &bytes)
      }
    } catch {
      throw NotelogError(crypto: error, plan.place(index, id))
    }
    metrics.count(plaintext.count)
    return plaintext
  }

  /// A length of four bytes, and a zlib stream.
  private func inflate(
    _ packed: RawSpan, _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) -> [UInt8] {
    guard packed.byteCount > 4, packed.u32(at: 0) <= Limits.recordBytes,
      let value = Deflate.inflate(packed.extracting(droppingFirst: 4), byteCount: Int(packed.u32(at: 0)))
    else { throw NotelogError(.damaged, "\(plan.place(index, id)): the compressed value is broken") }
    return value
  }

  /// A value written before its field became optional gets the presence byte that it lacks.
  private func withPresence<Result>(
    _ value: RawSpan, _ isMissing: Bool, _ use: (RawSpan) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    guard isMissing else { return try use(value) }
    var bytes = [UInt8](repeating: 1, count: value.byteCount + 1)
    defer { bytes.wipe() }
    bytes.withBytes(in: 0..<bytes.count) { $0.put(value, at: 1) }
    return try use(bytes.rawSpan)
  }
}

extension CollectionPlan {
  /// A field's place, for messages.
  func place(_ index: Int, _ id: RecordID) -> String {
    "\(schema.name).\(fields[index].field.name) of record \(id)"
  }
}

extension [UInt8] {
  /// Overwrites the bytes.
  mutating func wipe() {
    for index in indices { self[index] = 0 }
  }
}
