// A record on its way to the disk: values are gathered, measured, and sealed straight into their place.

import NotelogBase
import NotelogCrypto
import NotelogFormat

/// Gathers the fields of one record after another; its memory is used again, so that it allocates nothing for
/// long.
struct RecordEncoder {
  // Fields hold no references: they are copied about for every record.

  enum Source {
    /// Plaintext in the scratch buffer, to be copied or sealed.
    case fresh(Range<Int>)
    /// Bytes of the record's last version, to be copied as they are.
    case carried(Range<Int>)
    /// An uploaded value, by its place among those of the record.
    case uploaded(Int)
  }

  struct Field {
    /// What the directory is to say of it: of the range its length alone.
    var entry: FieldEntry
    /// The field's place in the plan; -1 for one that this version of the schema doesn't know.
    let index: Int
    var source: Source
    /// The id that a large value gets.
    var value: ID16?
  }

  private(set) var scratch = FieldScratch()
  /// The values of which digests are to be made, as they are before they are packed.
  private(set) var unpacked = FieldScratch()
  private(set) var unpackedRanges: [(index: Int, range: Range<Int>)] = []
  var fields: [Field] = []
  var uploads: [SealedContent] = []
  /// How many fields are large values.
  private var valueCount = 0
  /// The body's length, once all fields are gathered.
  var bodyByteCount = 0

  /// Forgets the last record.
  mutating func begin() {
    scratch.removeAll()
    // Emptying an array that is empty takes as long.
    if !fields.isEmpty { fields.removeAll(keepingCapacity: true) }
    if !uploads.isEmpty { uploads = [] }
    if !unpackedRanges.isEmpty {
      unpacked.removeAll()
      unpackedRanges.removeAll(keepingCapacity: true)
    }
    valueCount = 0
    bodyByteCount = RecordBody.headerByteCount
  }

  /// Overwrites the plaintext of the last record.
  mutating func wipe() { begin() }

  /// Gathers a field whose value `encode` appends. Fields come in ascending order of number.
  mutating func add(
    _ index: Int, of plan: CollectionPlan, _ encode: (inout FieldScratch) throws -> Void
  ) throws(NotelogError) {
    let start = scratch.count
    do { try encode(&scratch) } catch { throw NotelogError(storing: plan.name(of: index), error) }
    if plan.fields[index].type == .date, !endsInFiniteNumber(from: start) {
      throw NotelogError(
        .invalidArgument, "\(plan.name(of: index)): a date that is infinite or not a number can't be stored")
    }
    let flags = plan.fields[index].flags
    // Asked before it is packed, as it must fit when it is unpacked; and after, as padding makes it longer.
    guard scratch.count - start <= Limits.recordBytes else { throw tooLong(from: start, plan, index) }
    if plan.hasDigests, plan.digest(of: index) != nil { keepUnpacked(from: start, index) }
    var written = pack(start, flags)
    let plainCount = scratch.count - start
    guard plainCount <= Limits.recordBytes else { throw tooLong(from: start, plan, index) }
    var length = plainCount + (flags.contains(.sealed) ? RecordBody.sealOverhead : 0)
    if flags.contains(.sealed), plainCount > Limits.chunkBytes {
      written.insert(.chunked)
      length = ValueReference.storedByteCount
    }
    append(
      FieldEntry(
        number: plan.fields[index].number, type: plan.fields[index].type, flags: written,
        keyReference: plan.fields[index].keyReference, range: 0..<length),
      index, .fresh(start..<scratch.count))
  }

  /// Whether the double that a date ends in is one; nil has none.
  private func endsInFiniteNumber(from start: Int) -> Bool {
    guard scratch.count - start >= 8 else { return true }
    return scratch.withBytes(in: scratch.count - 8..<scratch.count) { bytes in
      Double(bitPattern: bytes.load(UInt64.self, at: 0)).isFinite
    }
  }

  private mutating func keepUnpacked(from start: Int, _ index: Int) {
    let begin = unpacked.count
    scratch.withBytes(in: start..<scratch.count) { bytes in
      unpacked.append(byteCount: bytes.byteCount) { $0.copy(bytes, at: 0) }
    }
    unpackedRanges.append((index, begin..<unpacked.count))
  }

  /// Appends a plain value.
  mutating func appendPlain(_ bytes: [UInt8]) -> Range<Int> {
    let start = scratch.count
    scratch.append(byteCount: bytes.count) { $0.copy(bytes.rawSpan, at: 0) }
    return start..<scratch.count
  }

  private func tooLong(from start: Int, _ plan: CollectionPlan, _ index: Int) -> NotelogError {
    NotelogError(
      .limitExceeded,
      "\(plan.name(of: index)): a value of \(scratch.count - start) bytes is over the limit of \(Limits.recordBytes); into a sealed field of bytes, upload streams longer ones"
    )
  }

  /// Gathers a field whose value was uploaded.
  mutating func add(_ content: SealedContent, _ index: Int, of plan: CollectionPlan) {
    uploads.append(content)
    append(
      FieldEntry(
        number: plan.fields[index].number, type: content.type, flags: content.flags,
        keyReference: content.keyReference, range: 0..<content.bytes.count),
      index, .uploaded(uploads.count - 1))
  }

  /// Gathers a field of the record's last version as it is, sealed or not.
  mutating func carry(_ entry: FieldEntry, index: Int?) {
    append(entry, index ?? -1, .carried(entry.range))
  }

  private mutating func append(_ entry: FieldEntry, _ index: Int, _ source: Source) {
    var field = Field(entry: entry, index: index, source: source)
    if entry.flags.contains(.chunked) {
      valueCount += 1
      if case .fresh = source { field.value = .randomValue }
    }
    fields.append(field)
    bodyByteCount += RecordBody.entryByteCount + entry.range.count
  }

  /// Compresses and pads the plaintext from `start` on, as the flags say.
  private mutating func pack(_ start: Int, _ flags: FieldFlags) -> FieldFlags {
    var flags = flags
    if flags.contains(.compressed), !scratch.compress(from: start) { flags.remove(.compressed) }
    if flags.contains(.padded) { scratch.pad(from: start) }
    return flags
  }

  /// The length of the envelope: the ids of large values and the sort keys of indexed fields; 0 where there
  /// are none.
  func envelopeByteCount(_ plan: CollectionPlan) -> Int {
    guard plan.hasIndexes || valueCount > 0 else { return 0 }
    var byteCount = 16 * valueCount
    for field in fields where field.index >= 0 && plan.fields[field.index].isIndexed {
      byteCount += 4 + sortKeyByteCount(field, plan)
    }
    return byteCount == 0 ? 0 : 4 + byteCount
  }

  /// Writes the envelope (FORMAT.md 5): the ids of large values, and the sort keys.
  func writeEnvelope(_ plan: CollectionPlan, carriedFrom old: RawSpan, into bytes: inout MutableRawSpan) {
    bytes.store(UInt16(bytes.byteCount), at: 0)
    bytes.store(UInt16(valueCount), at: 2)
    var place = 4
    if valueCount > 0 { writeValues(carriedFrom: old, into: &bytes, &place) }
    for field in fields where field.index >= 0 && plan.fields[field.index].isIndexed {
      let count = sortKeyByteCount(field, plan)
      bytes.store(field.entry.number, at: place)
      bytes.store(UInt16(count), at: place + 2)
      var key = bytes.part(place + 4..<place + 4 + count)
      switch field.source {
      case .fresh(let range): scratch.withBytes(in: range) { writeSortKey(field, plan, $0, into: &key) }
      case .carried(let range): writeSortKey(field, plan, old.extracting(range), into: &key)
      case .uploaded: break  // Sealed, and so not indexed.
      }
      place += 4 + count
    }
  }

  /// Writes the ids of the large values that the record refers to: **INV-V3**.
  private func writeValues(
    carriedFrom old: RawSpan, into bytes: inout MutableRawSpan, _ place: inout Int
  ) {
    for field in fields where field.entry.flags.contains(.chunked) {
      let value =
        switch field.source {
        case .fresh: field.value ?? .zero
        case .carried(let range): ValueReference.value(in: old.extracting(range))
        case .uploaded(let upload): uploads[upload].value ?? .zero
        }
      bytes.store(value.low, at: place)
      bytes.store(value.high, at: place + 8)
      place += 16
    }
  }

  private func sortKeyByteCount(_ field: Field, _ plan: CollectionPlan) -> Int {
    SortKey.byteCount(ofValue: field.entry.range.count + (lacksPresence(field, plan) ? 1 : 0))
  }

  private func writeSortKey(
    _ field: Field, _ plan: CollectionPlan, _ value: RawSpan, into key: inout MutableRawSpan
  ) {
    guard lacksPresence(field, plan) else {
      let isOptional = field.entry.flags.contains(.optional)
      return SortKey.write(field.entry.type, isOptional: isOptional, value, into: &key)
    }
    key.store(1 as UInt8, at: 0)
    var rest = key.part(from: 1)
    SortKey.write(field.entry.type, isOptional: false, value, into: &rest)
  }

  /// Whether the field became optional since the value was written: its key must sort among those of optional
  /// ones.
  private func lacksPresence(_ field: Field, _ plan: CollectionPlan) -> Bool {
    plan.fields[field.index].flags.contains(.optional) && !field.entry.flags.contains(.optional)
  }

  /// Writes the body into exactly ``bodyByteCount`` bytes: directory, plain values, sealed values. Carried
  /// fields come from `old`.
  func write(
    _ id: RecordID, of plan: CollectionPlan, carriedFrom old: RawSpan, keys: inout SealingKeys,
    nonces: inout NonceRun, into bytes: inout MutableRawSpan
  ) throws(NotelogError) {
    var directory = DirectoryWriter(fieldCount: fields.count, into: &bytes)
    for field in fields {
      let entry = field.entry
      let range = directory.add(
        entry.number, entry.type, entry.flags, entry.keyReference, length: entry.range.count, into: &bytes)
      switch field.source {
      case .carried(let source): bytes.copy(old.extracting(source), at: range.lowerBound)
      case .uploaded(let upload):
        let content = uploads[upload]
        bytes.copy(content.bytes.rawSpan, at: range.lowerBound)
      case .fresh(let source):
        var target = bytes.part(range)
        if let value = field.value {
          let sealer = try chunkSealer(field, as: value, id, plan, &keys)
          try sealer.writeReference(byteCount: source.count, &nonces, into: &target)
          continue
        }
        try scratch.withBytes(in: source) { plaintext throws(NotelogError) in
          guard entry.flags.contains(.sealed) else { return target.copy(plaintext) }
          try seal(plaintext, field, id, plan, &keys, &nonces, &target)
        }
      }
    }
  }

  /// Seals the large values, whose chunks come before the record that refers to them.
  func writeChunks(
    _ id: RecordID, of plan: CollectionPlan, keys: inout SealingKeys, nonces: inout NonceRun,
    into batch: inout Batch
  ) throws(NotelogError) {
    guard valueCount > 0 else { return }
    for field in fields {
      guard let value = field.value, case .fresh(let source) = field.source else { continue }
      let sealer = try chunkSealer(field, as: value, id, plan, &keys)
      let reference = ValueReference(value, byteCount: source.count)
      for number in 0..<reference.chunkCount {
        let chunk = reference.range(of: number)
        let plaintext = source.lowerBound + chunk.lowerBound..<source.lowerBound + chunk.upperBound
        try scratch.withBytes(in: plaintext) { bytes throws(NotelogError) in
          try sealer.put(bytes, number, isLast: number == reference.chunkCount - 1, &nonces, into: &batch)
        }
      }
    }
  }

  private func chunkSealer(
    _ field: Field, as value: ID16, _ id: RecordID, _ plan: CollectionPlan, _ keys: inout SealingKeys
  ) throws(NotelogError) -> ChunkSealer {
    let key = try keys.key(field.index, field.entry.keyReference, of: plan).key
    return ChunkSealer(key, field.entry, as: value, of: id, field.index, plan)
  }

  private func seal(
    _ plaintext: RawSpan, _ field: Field, _ id: RecordID, _ plan: CollectionPlan, _ keys: inout SealingKeys,
    _ nonces: inout NonceRun, _ target: inout MutableRawSpan
  ) throws(NotelogError) {
    let held = try keys.key(field.index, field.entry.keyReference, of: plan)
    let data = plan.additionalData(field.entry, field.index, id)
    do {
      try held.seal(plaintext, additionalData: data.bytes, nonces: &nonces, into: &target)
    } catch {
      throw NotelogError(crypto: error, "sealing \(plan.place(field.index, id))")
    }
  }
}

// MARK: - Values whose key their record names, in a field of its own (FORMAT.md 9.1, INV-M6).

extension RecordEncoder {
  /// A value that is carried over, and not under the key that its record is about to name.
  struct MovedValue {
    /// The field's place among those gathered.
    let place: Int
    /// The field's place in the plan.
    let index: Int
    /// The key that it is to be under.
    let keyReference: UInt32
  }

  /// Says of each value that is to be sealed, and whose key the record names, which key that is. All fields
  /// have been gathered.
  ///
  /// - Throws: `invalidArgument` where the record names none of the field's keys; `conflict` where an
  ///   uploaded value is under another key.
  mutating func chooseKeys(
    _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: RawSpan
  ) throws(NotelogError) {
    for place in fields.indices {
      let index = fields[place].index
      guard index >= 0, plan.fields[index].field.isKeyChosen else { continue }
      if case .carried = fields[place].source { continue }
      let choice = try choice(for: index, id, plan, carriedFrom: old)
      switch fields[place].source {
      case .fresh:
        fields[place].entry.keyReference = choice.keys.last ?? 0
      case .uploaded:
        guard choice.keys.last == fields[place].entry.keyReference else {
          throw NotelogError(
            .conflict,
            "\(plan.place(index, id)): the value was uploaded under another key than \(plan.keyFieldName(of: index)) names; upload it again"
          )
        }
      case .carried: break
      }
    }
  }

  /// The values that are carried over and whose record is about to name another key. Where it names none anew
  /// they stay as they are, be that right or wrong.
  func movedValues(
    _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: RawSpan
  ) throws(NotelogError) -> [MovedValue] {
    var moved: [MovedValue] = []
    for (place, field) in fields.enumerated() {
      guard case .carried = field.source, field.index >= 0, plan.fields[field.index].field.isKeyChosen else {
        continue
      }
      guard isFresh(plan.fields[field.index].field.keyField) else { continue }
      let choice = try choice(for: field.index, id, plan, carriedFrom: old)
      if plan.isOne(of: choice, field.entry.keyReference) { continue }
      moved.append(MovedValue(place: place, index: field.index, keyReference: choice.keys.last ?? 0))
    }
    return moved
  }

  private func isFresh(_ number: UInt16) -> Bool {
    for field in fields where field.entry.number == number {
      if case .fresh = field.source { return true }
    }
    return false
  }

  /// Has a value sealed anew take the place of one that was to be carried over: it differs in its key alone.
  mutating func replace(_ moved: MovedValue, by content: SealedContent) {
    uploads.append(content)
    fields[moved.place].entry.keyReference = content.keyReference
    fields[moved.place].source = .uploaded(uploads.count - 1)
  }

  /// The choice that the gathered record makes for a field.
  private func choice(
    for index: Int, _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: RawSpan
  ) throws(NotelogError) -> KeyChoice {
    let number = plan.fields[index].field.keyField
    switch fields.first(where: { $0.entry.number == number })?.source {
    case .fresh(let range):
      return try scratch.withBytes(in: range) { name throws(NotelogError) in
        try plan.choice(for: index, named: name, or: .invalidArgument)
      }
    case .carried(let range): return try plan.choice(for: index, named: old.extracting(range), or: .tampered)
    case .uploaded, nil:
      throw NotelogError(
        .invalidArgument,
        "\(plan.place(index, id)): the record lacks \(plan.keyFieldName(of: index)), which names the key")
    }
  }

  // MARK: - The digests of sealed values that no two records share (FORMAT.md 11.3).

  /// Gathers the digests of the values that were gathered, in the place of those that were carried over. A
  /// value that is carried over keeps its digest, unopened.
  mutating func addDigests(_ plan: CollectionPlan, _ keys: inout SealingKeys) throws(NotelogError) {
    for pair in plan.digests {
      guard let field = fields.first(where: { $0.index == pair.source }) else {
        // A record without the value has no digest of one.
        remove(pair.digest)
        continue
      }
      switch field.source {
      case .carried: break
      case .uploaded(let upload): if let digest = uploads[upload].digest { put(digest, pair.digest, plan) }
      case .fresh:
        guard let range = unpackedRanges.last(where: { $0.index == pair.source })?.range else { continue }
        let key = try keys.key(pair.source, field.entry.keyReference, of: plan).key
        let digest = try unpacked.withBytes(in: range) { value throws(NotelogError) in
          try plan.storedDigest(value, pair.source, under: key)
        }
        put(digest, pair.digest, plan)
      }
    }
  }

  private mutating func remove(_ index: Int) {
    guard let place = fields.firstIndex(where: { $0.index == index }) else { return }
    bodyByteCount -= RecordBody.entryByteCount + fields[place].entry.range.count
    fields.remove(at: place)
  }

  /// Gathers a digest, where its field's number belongs.
  private mutating func put(_ digest: [UInt8], _ index: Int, _ plan: CollectionPlan) {
    remove(index)
    let number = plan.fields[index].number
    let entry = FieldEntry(
      number: number, type: plan.fields[index].type, flags: plan.fields[index].flags, keyReference: 0,
      range: 0..<digest.count)
    let place = fields.firstIndex { $0.entry.number > number } ?? fields.count
    fields.insert(Field(entry: entry, index: index, source: .fresh(appendPlain(digest))), at: place)
    bodyByteCount += RecordBody.entryByteCount + digest.count
  }
}
