// What no two records of a collection share, ready for use.

import NotelogBase

/// One or two fields whose values are one record's.
struct UniqueRule: Sendable {
  /// The fields' names.
  let names: [String]
  /// The index that leads to the records which may have the same values.
  let order: OrderName
  /// The number of the sealed field whose digests are compared; nil where plain values are.
  let source: UInt16?

  init(_ numbers: [UInt16], in schema: StoredSchema) {
    let known = numbers.compactMap { number in schema.fields.first { $0.number == number } }
    source = known.first.flatMap { $0.isDigest ? $0.digestOf : nil }
    names = known.map { field in
      field.isDigest ? schema.fields.first { $0.number == field.digestOf }?.name ?? field.name : field.name
    }
    // A key that leaves no room for another comes last.
    func byteCount(_ field: StoredField) -> Int { field.type.fixedByteCount ?? 0 }
    let fields = known.sorted { byteCount($0) < byteCount($1) }
    let second = fields.dropFirst().first.map { second in
      OrderName.Second(
        field: second.number, isReversed: false, followsText: fields[0].type.fixedByteCount == nil)
    }
    order = OrderName(collection: schema.collection, field: fields.first?.number ?? 0, second: second)
  }

  /// The values of a record, one behind the other; nil where one is missing.
  func values(in body: RawSpan) throws(NotelogError) -> [UInt8]? {
    let record = RecordBody(checked: body)
    var values: [UInt8] = []
    for field in order.fields {
      guard let entry = try record.find(field), !entry.flags.contains(.sealed) else { return nil }
      let start = entry.range.lowerBound + (entry.flags.contains(.optional) ? 1 : 0)
      if entry.flags.contains(.optional), body.byte(at: entry.range.lowerBound) == 0 { return nil }
      let value = body.extracting(start..<entry.range.upperBound)
      values.append(littleEndian: UInt32(value.byteCount))
      values += value.array()
    }
    return values
  }
}
