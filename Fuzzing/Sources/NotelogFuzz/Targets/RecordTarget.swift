// Schemas, records' bodies, their values and envelopes: FORMAT.md 5, 7, 8 and 9.

@testable import NotelogStorage
@testable import Notelog
@testable import NotelogBase
@testable import NotelogFormat
import Foundation
@testable import NotelogCrypto

/// Reads a schema, a record by it, and every field of the record: sealed ones are sealed by the harness
/// first.
enum RecordTarget: FuzzTarget {
  private static let store: Store = {
    do {
      let store = try Store.create(
        in: MemoryStorage(), unlocking: .key([UInt8](repeating: 4, count: 32)), options: Store.Options())
      try store.createKey("personal", .whenUnlocked)
      return store
    } catch { fatalError("no store could be made: \(error)") }
  }()

  static func seeds() throws -> [[UInt8]] {
    var fields: [StoredField] = []
    var values: [(field: StoredField, value: [UInt8])] = []
    for (index, type) in FieldType.allCases.enumerated() {
      for (offset, flags) in ([[], .optional, .sealed, [.sealed, .padded, .compressed]] as [FieldFlags])
        .enumerated()
      {
        let number = UInt16(4 * index + offset + 1)
        let field = StoredField(
          number: number, type: type, firstName: "f\(number)", name: "f\(number)", flags: flags,
          isIndexed: flags.isEmpty && type.isSortable, isRetired: false,
          keys: flags.contains(.sealed) ? [1] : [])
        fields.append(field)
        values.append((field, value(of: field)))
      }
    }
    let schema = StoredSchema(collection: 1, revision: 1, firstName: "first", name: "note", fields: fields)
    var seeds: [[UInt8]] = []
    // Each value alone, and all together.
    for range in (0..<values.count).map({ $0..<$0 + 1 }) + [0..<values.count] {
      var seed: [UInt8] = []
      seed.append(counted: schema.encoded())
      seeds.append(seed + body(values[range]))
    }
    return seeds
  }

  private static func value(of field: StoredField) -> [UInt8] {
    let plain: [UInt8] = [UInt8](
      repeating: field.type == .boolean ? 1 : 0x31, count: field.type.fixedByteCount ?? 60)
    if field.isOptional { return [1] + plain }
    guard field.flags.contains(.compressed) else { return plain }
    var value: [UInt8] = []
    value.append(integer: UInt32(plain.count))
    value += plain.rawSpan.deflated() ?? plain
    return value + [0x80] + [UInt8](repeating: 0, count: max(0, 39 - value.count))
  }

  private static func body(_ values: ArraySlice<(field: StoredField, value: [UInt8])>) -> [UInt8] {
    let overheads = values.map { $0.value.count + ($0.field.isSealed ? RecordBody.sealOverhead : 0) }
    let size = DirectoryWriter.byteCount(fieldCount: values.count) + overheads.reduce(0, +)
    var bytes = [UInt8](repeating: 0, count: size)
    bytes.withBytes(in: 0..<size) { span in
      var writer = DirectoryWriter(fieldCount: values.count, into: &span)
      for (line, length) in zip(values, overheads) {
        let entry = FieldEntry(
          number: line.field.number, type: line.field.type, flags: line.field.flags,
          keyReference: line.field.isSealed ? 1 : 0, range: 0..<length)
        let range = writer.add(entry, into: &span)
        span.copy(line.value.rawSpan, at: range.lowerBound)
      }
    }
    return bytes
  }

  static func run(_ input: [UInt8]) throws {
    var reader = InputReader(input)
    let schemaBytes = reader.counted()
    var record = reader.rest()
    Envelope.forEachSortKey(in: record.rawSpan) { _, key in
      expect(key.upperBound <= record.count, "an envelope is longer than its bytes")
    }
    let schema = try StoredSchema(parsing: schemaBytes.rawSpan)
    expect(schema.encoded() == schemaBytes, "a schema is written as other bytes than it was read from")
    let plan = try CollectionPlan(schema, storeID: store.storeID)
    let entries = try RecordBody(checking: record.rawSpan).entries()
    let id = RecordID(ID16(low: 1, high: 2))
    for entry in entries {
      guard let index = plan.index(of: entry.number) else { continue }
      try? seal(entry, in: &record, id, index, plan)
      read(entry, in: record, id, index, plan)
    }
  }

  /// Seals the bytes that stand where a sealed value begins.
  private static func seal(
    _ entry: FieldEntry, in record: inout [UInt8], _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) throws {
    guard entry.flags.contains(.sealed), !entry.flags.contains(.chunked) else { return }
    let key = try store.vault.sealingKey(KeyReference(rawValue: entry.keyReference))
    let plaintext = Array(record[entry.range].dropLast(RecordBody.sealOverhead))
    let data = plan.additionalData(entry, index, id)
    var nonces = NonceRun()
    try record.withBytes(in: entry.range) { span throws(CryptoError) in
      try key.seal(plaintext.rawSpan, additionalData: data.bytes, nonces: &nonces, into: &span)
    }
  }

  private static func read(
    _ entry: FieldEntry, in record: [UInt8], _ id: RecordID, _ index: Int, _ plan: CollectionPlan
  ) {
    let field = plan.fields[index]
    var opening = Opening()
    try? opening.open(entry, in: record.rawSpan, of: id, index, plan, store.opener) {
      value throws(NotelogError) in
      let value = try DynamicValue(loading: value, as: field.type, isOptional: field.isOptional)
      _ = value.description
    }
  }
}
