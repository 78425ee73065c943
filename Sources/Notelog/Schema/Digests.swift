// What no two records of a collection share, ready for use.

import NotelogBase
import NotelogCrypto

/// One or two fields whose values are one record's.
struct UniqueRule: Sendable {
  /// The fields' names.
  let names: [String]
  /// The index that leads to the records which may have the same values.
  let order: OrderName
  /// The number of the sealed field whose digests are compared; nil where plain values are.
  let source: UInt16?

  init(_ numbers: [UInt16], in schema: StoredSchema) {
    let known = numbers.compactMap { schema.field($0) }
    source = known.first.flatMap { $0.isDigest ? $0.digestOf : nil }
    names = known.map { field in
      schema.field(field.digestOf)?.name ?? field.name
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

// MARK: - Hidden fields with the digests of sealed ones, by which equal values are told (FORMAT.md 9.1, 11.3).

extension StoredField {
  /// Whether its values are digests of another field's, and nobody's own.
  var isDigest: Bool { digestOf != 0 }

  /// The field of a sealed one's digests.
  init(digestsOf field: StoredField, number: UInt16) {
    let name = "\(String(decoding: field.firstName.utf8.prefix(200), as: UTF8.self))#\(number)"
    self.init(
      number: number, type: .bytes, firstName: name, name: name, flags: .optional, isIndexed: true,
      isRetired: false, wasAlwaysOptional: true, keys: [])
    digestOf = field.number
  }
}

extension StoredSchema {
  /// Has digests kept of the fields that a declaration wants them of, and of none that it declares without.
  mutating func followDigests(of declared: CollectionDescription) throws(NotelogError) {
    for name in declared.fields.map(\.name) where declared.revealed.contains(name) {
      guard let source = field(named: name),
        !fields.contains(where: { $0.digestOf == source.number && !$0.isRetired })
      else { continue }
      let last = fields.last?.number ?? 0
      guard fields.count < Limits.fields, last < .max else {
        throw NotelogError(.limitExceeded, "\(self.name) has \(Limits.fields) fields already")
      }
      let digests = StoredField(digestsOf: source, number: last + 1)
      guard !fields.contains(where: { $0.firstName == digests.firstName || $0.name == digests.name }) else {
        throw NotelogError(
          .schemaConflict, "\(self.name) has a field \(digests.name), which is to be a hidden one's name")
      }
      fields.append(digests)
    }
    for index in fields.indices where fields[index].isDigest && !fields[index].isRetired {
      guard let source = field(fields[index].digestOf) else { continue }
      let isDeclared =
        declared.typeName != nil
        && declared.fields.contains { $0.allNames.contains(source.name) }
      if source.isRetired || isDeclared && !declared.revealed.contains(source.name) {
        fields[index].isRetired = true
        fields[index].isIndexed = false
      }
    }
  }

  /// The rules that a declaration leads to: its own, and one for each field of digests.
  func rules(of declared: CollectionDescription) -> [[UInt16]] {
    let plain =
      declared.unique.map { rules in
        rules.filter { !($0.count == 1 && declared.revealed.contains($0[0])) }
          .map { names in names.compactMap { field(named: $0)?.number } }
      } ?? unique.filter { rule in isRule(rule) && !fields.contains { rule == [$0.number] && $0.isDigest } }
    return plain + fields.filter { $0.isDigest && !$0.isRetired }.map { [$0.number] }
  }

  /// Whether a field can have digests: it is sealed under one key, and its values have an order of bytes.
  func hasDigestibleValues(_ number: UInt16) -> Bool {
    fields.contains { $0.number == number && $0.isSealed && !$0.isKeyChosen && $0.type.isSortable }
  }
}

extension CollectionPlan {
  /// The field of a field's digests.
  func digest(of source: Int) -> Int? { digests.first { $0.source == source }?.digest }

  /// What an index is of, in words.
  func name(ofIndexed number: UInt16) -> String {
    guard let index = index(of: number) else { return "" }
    guard let source = digests.first(where: { $0.digest == index })?.source else {
      return fields[index].name
    }
    return "digests of \(fields[source].name)"
  }

  /// The bytes whose digest a value's is, which has its presence byte if the field is optional: those that
  /// say in an index what is equal. nil where there is no value.
  func digested(_ value: RawSpan, _ source: Int) throws(NotelogError) -> [UInt8]? {
    let field = fields[source]
    if field.isOptional, value.byteCount == 0 || value.byte(at: 0) == 0 { return nil }
    let rest = value.extracting(droppingFirst: field.isOptional ? 1 : 0)
    guard rest.byteCount <= Limits.digestedBytes else {
      throw NotelogError(
        .limitExceeded,
        "\(name(of: source)): a value that no two records share has at most \(Limits.digestedBytes) bytes")
    }
    return SortKey.key(of: rest, field.type, isOptional: false, byteCount: rest.byteCount)
  }

  /// What stands in the field of digests for a value: a presence byte, and the digest if there is a value.
  func storedDigest(_ value: RawSpan, _ source: Int, under key: SealingKey) throws(NotelogError) -> [UInt8] {
    guard var bytes = try digested(value, source) else { return [0] }
    defer { bytes.wipe() }
    return try [1]
      + naming(
        name(of: source), key.digest(of: bytes.rawSpan, field: nameHashes[source], store: storeID))
  }

  /// Refuses a record that has another digest than its value's.
  func checkDigest(
    of value: RawSpan, _ entry: FieldEntry, _ source: Int, _ id: RecordID, in body: RawSpan, _ vault: Vault
  ) throws(NotelogError) {
    guard let index = digest(of: source),
      let stored = try RecordBody(checked: body).find(fields[index].number)
    else { return }
    let key = try vault.sealingKey(entry.keyReference, for: place(source, id))
    guard try storedDigest(value, source, under: key) == body.extracting(stored.range).array() else {
      throw NotelogError(.tampered, "\(place(source, id)): its digest is another value's")
    }
  }
}
