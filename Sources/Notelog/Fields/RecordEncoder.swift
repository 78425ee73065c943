// A record on its way to the disk: values are gathered, measured, and sealed straight into their place.

import NotelogBase
import NotelogCrypto

/// Gathers the fields of one record after another; its memory is used again, so that it allocates nothing for
/// long.
struct RecordEncoder: ~Copyable {
  // Fields hold no references: they are copied about for every record.

  enum Source {
    /// Plaintext, to be copied or sealed.
    case fresh
    /// Bytes of the record's last version, to be copied as they are.
    case carried
    /// A value that is sealed already, to be copied as it is.
    case sealed
  }

  struct Field {
    /// What the directory is to say of it: of the range its length alone.
    var entry: FieldEntry
    /// The field's place in the plan; -1 for one that this version of the schema doesn't know.
    let index: Int
    var source: Source
    /// Where it lies in the scratch memory.
    var range: Range<Int>
  }

  /// What was gathered, overwritten behind each record.
  private(set) var scratch = Buffer(capacity: 512, isSecret: true)
  /// Where the values are of which digests are to be made, as they are before they are packed; of those that
  /// are sealed already, the digests.
  private var unpacked: [(index: Int, range: Range<Int>)] = []
  var fields: [Field] = []
  /// How many fields are large values.
  private var valueCount = 0
  /// The body's length, once all fields are gathered.
  var bodyByteCount = 0

  /// Whether the record is made of its last version, though all of that may be sealed or encoded anew.
  private(set) var isOver = false

  /// Forgets the last record.
  mutating func begin(over isOver: Bool = false) {
    self.isOver = isOver
    scratch.wipe()
    // Emptying an array that is empty takes as long.
    if !fields.isEmpty { fields.removeAll(keepingCapacity: true) }
    if !unpacked.isEmpty { unpacked.removeAll(keepingCapacity: true) }
    valueCount = 0
    bodyByteCount = RecordBody.headerByteCount
  }

  /// Overwrites the plaintext of the last record.
  mutating func wipe() { begin() }

  /// Gathers a field whose value `encode` appends. Fields come in ascending order of number.
  mutating func add(
    _ index: Int, of plan: CollectionPlan, _ encode: (inout Buffer) throws -> Void
  ) throws(NotelogError) {
    var start = scratch.count
    do { try encode(&scratch) } catch { throw NotelogError(storing: plan.name(of: index), error) }
    if plan.fields[index].type == .date, !endsInFiniteNumber(from: start) {
      throw NotelogError(
        .invalidArgument, "\(plan.name(of: index)): a date that is infinite or not a number can't be stored")
    }
    var flags = plan.fields[index].flags
    // Asked before it is packed, as it must fit when it is unpacked; and after, as padding makes it longer.
    guard scratch.count - start <= Limits.recordBytes else { throw tooLong(from: start, plan, index) }
    if plan.hasDigests, plan.digest(of: index) != nil {
      // What is packed is a copy.
      var copy = scratch.bytes.extracting(droppingFirst: start).array()
      defer { copy.wipe() }
      unpacked.append((index, start..<scratch.count))
      start = gather(copy.rawSpan).lowerBound
    }
    if flags.contains(.compressed), !compress(from: start) { flags.remove(.compressed) }
    if flags.contains(.padded) { pad(from: start) }
    let plainCount = scratch.count - start
    guard plainCount <= Limits.recordBytes else { throw tooLong(from: start, plan, index) }
    var length = plainCount + (flags.contains(.sealed) ? RecordBody.sealOverhead : 0)
    if flags.contains(.sealed), plainCount > Limits.chunkBytes {
      flags.insert(.chunked)
      length = ValueReference.storedByteCount
    }
    append(
      FieldEntry(
        number: plan.fields[index].number, type: plan.fields[index].type, flags: flags,
        keyReference: plan.keyReferences[index], range: 0..<length),
      index, .fresh, start..<scratch.count)
  }

  /// Whether the double that a date ends in is one; nil has none.
  private func endsInFiniteNumber(from start: Int) -> Bool {
    guard scratch.count - start >= 8 else { return true }
    return Double(bitPattern: scratch.bytes.load(UInt64.self, at: scratch.count - 8)).isFinite
  }

  /// Puts a length of four bytes and a zlib stream in the place of the bytes from `start` on.
  ///
  /// - Returns: False, and nothing changed, where that would not be shorter.
  private mutating func compress(from start: Int) -> Bool {
    let plainCount = scratch.count - start
    guard var stream = scratch.bytes.extracting(droppingFirst: start).deflated(),
      stream.count + 4 < plainCount
    else { return false }
    defer { stream.wipe() }
    let packedCount = stream.count + 4
    var all = scratch.mutableBytes
    var target = all.part(from: start)
    target.store(UInt32(plainCount), at: 0)
    target.copy(stream.rawSpan, at: 4)
    for offset in packedCount..<plainCount { target.store(0 as UInt8, at: offset) }
    scratch.truncate(to: start + packedCount)
    return true
  }

  /// Pads the bytes from `start` on.
  private mutating func pad(from start: Int) {
    let plainCount = scratch.count - start
    let padded = Padding.paddedCount(of: plainCount, minimumBucket: Limits.paddingBucket)
    scratch.appendZeros(padded - plainCount)
    var all = scratch.mutableBytes
    var target = all.part(from: start)
    Padding.pad(&target, valueCount: plainCount)
  }

  /// Keeps bytes, and says where they are.
  private mutating func gather(_ bytes: RawSpan) -> Range<Int> {
    let start = scratch.count
    scratch.append(bytes)
    return start..<scratch.count
  }

  private func tooLong(from start: Int, _ plan: CollectionPlan, _ index: Int) -> NotelogError {
    NotelogError(
      .limitExceeded,
      "\(plan.name(of: index)): a value of \(scratch.count - start) bytes is over the limit of \(Limits.recordBytes); into a sealed field of bytes, upload streams longer ones"
    )
  }

  /// Gathers a field whose value is sealed already.
  mutating func add(_ content: SealedContent, _ index: Int) {
    if let digest = content.digest { unpacked.append((index, gather(digest.rawSpan))) }
    append(content.entry, index, .sealed, gather(content.bytes.rawSpan))
  }

  /// Gathers a field of the record's last version as it is, sealed or not.
  mutating func carry(_ entry: FieldEntry, from old: RawSpan, index: Int?) {
    append(entry, index ?? -1, .carried, gather(old.extracting(entry.range)))
  }

  private mutating func append(_ entry: FieldEntry, _ index: Int, _ source: Source, _ range: Range<Int>) {
    if entry.flags.contains(.chunked) { valueCount += 1 }
    fields.append(Field(entry: entry, index: index, source: source, range: range))
    bodyByteCount += RecordBody.entryByteCount + entry.range.count
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

  /// Writes the envelope (FORMAT.md 5): the ids of the large values that the record refers to, **INV-V3**, and
  /// the sort keys.
  func writeEnvelope(_ plan: CollectionPlan, into bytes: inout MutableRawSpan) {
    bytes.store(UInt16(bytes.byteCount), at: 0)
    bytes.store(UInt16(valueCount), at: 2)
    var place = 4
    for field in fields where field.entry.flags.contains(.chunked) {
      let value = ValueReference.value(in: scratch.bytes.extracting(field.range))
      bytes.store(value.low, at: place)
      bytes.store(value.high, at: place + 8)
      place += 16
    }
    for field in fields where field.index >= 0 && plan.fields[field.index].isIndexed {
      let count = sortKeyByteCount(field, plan)
      bytes.store(field.entry.number, at: place)
      bytes.store(UInt16(count), at: place + 2)
      var key = bytes.part(place + 4..<place + 4 + count)
      writeSortKey(field, plan, scratch.bytes.extracting(field.range), into: &key)
      place += 4 + count
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

  /// Writes the body into exactly ``bodyByteCount`` bytes: directory, plain values, sealed values. Large ones
  /// have been put into the batch.
  func write(
    _ id: RecordID, of plan: CollectionPlan, keys: inout SealingKeys, nonces: inout NonceRun,
    into bytes: inout MutableRawSpan
  ) throws(NotelogError) {
    var directory = DirectoryWriter(fieldCount: fields.count, into: &bytes)
    for field in fields {
      var target = bytes.part(directory.add(field.entry, into: &bytes))
      let value = scratch.bytes.extracting(field.range)
      if field.source == .fresh, field.entry.flags.contains(.sealed) {
        try seal(value, field, id, plan, &keys, &nonces, &target)
      } else {
        target.copy(value)
      }
    }
  }

  /// Seals the large values, whose chunks come before the record that refers to them.
  mutating func writeChunks(
    _ id: RecordID, of plan: CollectionPlan, keys: inout SealingKeys, nonces: inout NonceRun,
    into batch: inout Batch
  ) throws(NotelogError) {
    guard valueCount > 0 else { return }
    for place in fields.indices {
      let field = fields[place]
      guard field.source == .fresh, field.entry.flags.contains(.chunked) else { continue }
      let key = try keys.key(field.index, field.entry.keyReference, of: plan).key
      let sealer = ChunkSealer(key, field.entry, as: .randomValue, of: id, field.index, plan)
      let content = try sealer.putAll(scratch.bytes.extracting(field.range), &nonces, into: &batch)
      replace(place, by: content)
    }
  }

  private func seal(
    _ plaintext: RawSpan, _ field: Field, _ id: RecordID, _ plan: CollectionPlan, _ keys: inout SealingKeys,
    _ nonces: inout NonceRun, _ target: inout MutableRawSpan
  ) throws(NotelogError) {
    let held = try keys.key(field.index, field.entry.keyReference, of: plan)
    let data = plan.additionalData(field.entry, field.index, id)
    do {
      try held.seal(plaintext, additionalData: data.bytes, nonces: &nonces, into: &target)
    } catch { throw NotelogError(crypto: error, "sealing \(plan.place(field.index, id))") }
  }
}

// MARK: - Values whose key their record names, in a field of its own (FORMAT.md 9.1, INV-M6).

extension RecordEncoder {
  /// Says of each value that is to be sealed, and whose key the record names, which key that is. All fields
  /// have been gathered.
  ///
  /// - Throws: `invalidArgument` where the record names none of the field's keys; `conflict` where an
  ///   uploaded value is under another key.
  mutating func chooseKeys(_ id: RecordID, _ plan: CollectionPlan) throws(NotelogError) {
    for place in fields.indices {
      let field = fields[place]
      guard field.source != .carried, field.index >= 0, plan.fields[field.index].isKeyChosen else { continue }
      let reference = try choice(for: field.index, id, plan).keys.last ?? 0
      if field.source == .fresh { fields[place].entry.keyReference = reference }
      guard fields[place].entry.keyReference == reference else {
        throw NotelogError(
          .conflict,
          "\(plan.place(field.index, id)): the value was uploaded under another key than \(plan.keyFieldName(of: field.index)) names; upload it again"
        )
      }
    }
  }

  /// The values that are carried over and whose record is about to name another key, by their places among
  /// those gathered, with that key's reference. Where it names none anew they stay as they are, be that right
  /// or wrong.
  func movedValues(
    _ id: RecordID, _ plan: CollectionPlan
  ) throws(NotelogError) -> [(place: Int, keyReference: UInt32)] {
    var moved: [(place: Int, keyReference: UInt32)] = []
    for (place, field) in fields.enumerated()
    where field.source == .carried && field.index >= 0 && plan.fields[field.index].isKeyChosen {
      let keyField = plan.fields[field.index].keyField
      guard fields.contains(where: { $0.entry.number == keyField && $0.source == .fresh }) else { continue }
      let choice = try choice(for: field.index, id, plan)
      if plan.isOne(of: choice, field.entry.keyReference) { continue }
      moved.append((place, choice.keys.last ?? 0))
    }
    return moved
  }

  /// Has a sealed value take the place of one that was to be sealed, or carried over. It differs in its key
  /// alone.
  mutating func replace(_ place: Int, by content: SealedContent) {
    fields[place].entry.keyReference = content.entry.keyReference
    fields[place].source = .sealed
    fields[place].range = gather(content.bytes.rawSpan)
  }

  /// The choice that the gathered record makes for a field.
  private func choice(
    for index: Int, _ id: RecordID, _ plan: CollectionPlan
  ) throws(NotelogError) -> KeyChoice {
    let number = plan.fields[index].keyField
    guard let field = fields.first(where: { $0.entry.number == number }) else {
      throw NotelogError(
        .invalidArgument,
        "\(plan.place(index, id)): the record lacks \(plan.keyFieldName(of: index)), which names the key")
    }
    return try plan.choice(
      for: index, named: scratch.bytes.extracting(field.range),
      or: field.source == .fresh ? .invalidArgument : .tampered)
  }

  // MARK: - The digests of sealed values that reveal which are equal (FORMAT.md 11.3).

  /// Gathers the digests of the values that were gathered, in the place of those that were carried over. A
  /// value that is carried over keeps its digest, unopened.
  mutating func addDigests(_ plan: CollectionPlan, _ keys: inout SealingKeys) throws(NotelogError) {
    for pair in plan.digests {
      guard let field = fields.first(where: { $0.index == pair.source }) else {
        // A record without the value has no digest of one.
        remove(pair.digest)
        continue
      }
      guard field.source != .carried,
        let range = unpacked.last(where: { $0.index == pair.source })?.range
      else { continue }
      guard field.source == .fresh else {
        put(scratch.bytes.extracting(range).array(), pair.digest, plan)
        continue
      }
      let key = try keys.key(pair.source, field.entry.keyReference, of: plan).key
      let digest = try plan.storedDigest(scratch.bytes.extracting(range), pair.source, under: key)
      put(digest, pair.digest, plan)
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
    let range = gather(digest.rawSpan)
    fields.insert(Field(entry: entry, index: index, source: .fresh, range: range), at: place)
    bodyByteCount += RecordBody.entryByteCount + digest.count
  }
}
