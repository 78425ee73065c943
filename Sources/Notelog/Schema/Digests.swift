// What no two records of a collection share, and the digests by which equal sealed values are told.

import NotelogBase
import NotelogCrypto

/// One or two fields whose values are one record's.
struct UniqueRule: Sendable {
  /// The fields' names.
  let names: [String]
  /// The index that leads to the records which may have the same values.
  let order: OrderName

  init(_ numbers: [UInt16], in schema: StoredSchema) {
    let known = numbers.compactMap { schema.field($0) }
    names = known.map { field in schema.field(field.digestOf)?.name ?? field.name }
    // A key that leaves no room for another comes last.
    func byteCount(_ field: StoredField) -> Int { field.isDigest ? .max : field.type.fixedByteCount ?? 0 }
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
      wasAlwaysOptional: true, digestOf: field.number)
  }
}

extension StoredSchema {
  /// The place of the field in use that has a field's digests; nil where none has.
  func digests(of source: StoredField) -> Int? {
    fields.firstIndex { $0.isDigest && $0.digestOf == source.number && !$0.isRetired }
  }

  /// Has digests kept of the fields that a declaration wants them of, and of none that it declares without.
  mutating func followDigests(of declared: CollectionDescription) throws(NotelogError) {
    for field in declared.fields {
      guard let place = position(of: field), !fields[place].isRetired else { continue }
      if let known = digests(of: fields[place]) {
        // Who has no record type takes nothing away.
        let isKept =
          field.revealsEquality ? fields[known].ignoresCase == field.ignoresCase : declared.typeName == nil
        if isKept { continue }
        fields[known].retire()
      }
      if field.revealsEquality { try addDigests(of: fields[place], ignoringCase: field.ignoresCase) }
    }
    for index in fields.indices where fields[index].isDigest {
      if field(fields[index].digestOf)?.isRetired == true { fields[index].retire() }
    }
  }

  private mutating func addDigests(of source: StoredField, ignoringCase: Bool) throws(NotelogError) {
    let last = fields.last?.number ?? 0
    guard fields.count < Limits.fields, last < Limits.maximumFieldNumber else {
      throw NotelogError(.limitExceeded, "\(name) has \(Limits.fields) fields already")
    }
    var digests = StoredField(digestsOf: source, number: last + 1)
    digests.ignoresCase = ignoringCase
    guard !fields.contains(where: { $0.firstName == digests.firstName || $0.name == digests.name }) else {
      throw NotelogError(
        .schemaConflict, "\(name) has a field \(digests.name), which is to be a hidden one's name")
    }
    fields.append(digests)
  }

  /// The rules that a declaration leads to: its own, and those that are stored about what it says nothing of.
  /// A rule about a sealed field is one about the field of its digests.
  func rules(of declared: CollectionDescription) -> [[UInt16]] {
    func stored(_ field: FieldDescription) -> StoredField? { position(of: field).map { fields[$0] } }
    let known = declared.fields.compactMap(stored)
    let own = (declared.unique ?? []).map { names in
      names.map { name in declared.fields.first { $0.name == name }.flatMap(stored) }
    }
    let kept = unique.map { rule in
      rule.map { number in field(number).flatMap { $0.isDigest ? field($0.digestOf) : $0 } }
    }.filter { rule in
      declared.unique == nil || !rule.allSatisfy { $0.map(known.contains) == true }
    }
    return (own + kept).map { rule in
      rule.map { field in field.flatMap { digests(of: $0).map { fields[$0].number } ?? $0.number } ?? 0 }
    }.filter(isRule)
  }

  /// Whether a field can have its digests in another: it is sealed under one key, and its values have an
  /// order of bytes. Only text has a case to ignore.
  func hasDigestibleValues(for digests: StoredField) -> Bool {
    fields.contains {
      $0.number == digests.digestOf && $0.isSealed && !$0.isKeyChosen && $0.type.isSortable
        && (!digests.ignoresCase || $0.type == .text)
    }
  }
}

extension CollectionPlan {
  /// Whether an index is one of digests.
  func isOfDigests(_ name: OrderName) -> Bool { digests.contains { fields[$0.digest].number == name.field } }

  /// The field of a field's digests.
  func digest(of source: Int) -> Int? { digests.first { $0.source == source }?.digest }

  /// What an index is of, in words.
  func name(ofIndexed number: UInt16) -> String {
    guard let index = index(of: number) else { return "" }
    guard let source = digests.first(where: { $0.digest == index })?.source else { return fields[index].name }
    return "digests of \(fields[source].name)"
  }

  /// The bytes whose digest a value's is, which has its presence byte if the field is optional: those that
  /// say in an index what is equal, with ASCII letters in lower case where case is ignored. nil where there is
  /// no value.
  func digested(_ value: RawSpan, _ source: Int) throws(NotelogError) -> [UInt8]? {
    let field = fields[source]
    if field.isOptional, value.byteCount == 0 || value.byte(at: 0) == 0 { return nil }
    let rest = value.extracting(droppingFirst: field.isOptional ? 1 : 0)
    guard rest.byteCount <= Limits.digestedBytes else {
      throw NotelogError(
        .limitExceeded,
        "\(name(of: source)): a value whose equality is revealed has at most \(Limits.digestedBytes) bytes")
    }
    var bytes = SortKey.key(of: rest, field.type, isOptional: false, byteCount: rest.byteCount)
    if digest(of: source).map({ fields[$0].ignoresCase }) == true {
      for index in bytes.indices { bytes[index] = bytes[index].lowercasedASCII }
    }
    return bytes
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
