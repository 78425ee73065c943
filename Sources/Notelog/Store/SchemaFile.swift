// The schemas' second copy: the file `schemas`, replaced in one step (FORMAT.md 21.3).

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// Reads and replaces the file `schemas`.
struct SchemaFile: Sendable {
  static let name = FileName.schemas
  private static let magic: [UInt8] = Array("NLschm\r\n".utf8)
  private static let version: UInt16 = 1
  private static let headByteCount = 40
  private static let checksumByteCount = 4

  let storage: any Storage

  /// Reads the file: the schemas in it, by the numbers of their collections. What is wrong with it is no
  /// error: it is the second copy. It mostly holds what is known already, which is taken as it is.
  func read(
    of storeID: ID16, _ vault: Vault? = nil, knowing known: [UInt16: SchemaRegistry.Stored] = [:]
  ) -> FileCopy<[UInt16: SchemaRegistry.Stored]> {
    FileCopy(Self.name, in: storage, upTo: Limits.schemaFileBytes) { bytes throws(NotelogError) in
      try Self.parse(bytes.rawSpan, of: storeID, vault, knowing: known)
    }
  }

  /// Replaces the file, durably. A crash at any moment leaves the old one or the new one.
  func replace(with schemas: [SchemaRegistry.Stored], of storeID: ID16) throws(NotelogError) {
    try storage.keepCopy(try Self.encoded(schemas, of: storeID), as: Self.name)
  }

  /// The bytes of a file with these schemas.
  static func encoded(
    _ schemas: [SchemaRegistry.Stored], of storeID: ID16
  ) throws(NotelogError) -> [UInt8] {
    let entries = schemas.sorted { $0.plan.number < $1.plan.number }
    let byteCount = entries.reduce(headByteCount + checksumByteCount) { $0 + 4 + $1.byteCount }
    guard byteCount <= Limits.schemaFileBytes else {
      throw NotelogError(
        .limitExceeded, "the schemas take more than \(Limits.schemaFileBytes) bytes together")
    }
    var bytes = magic
    bytes.append(littleEndian: version, 0 as UInt16, UInt32(byteCount))
    bytes += storeID.array
    bytes.append(littleEndian: UInt32(entries.count), 0 as UInt32)
    for entry in entries {
      bytes.append(littleEndian: UInt32(entry.byteCount))
      bytes += entry.bytes + entry.mac
    }
    bytes.append(littleEndian: Checksum.of(bytes.rawSpan))
    return bytes
  }

  /// The schemas in a file's bytes; their MACs are checked at unlock.
  static func parse(
    _ bytes: RawSpan, of storeID: ID16, _ vault: Vault? = nil,
    knowing known: [UInt16: SchemaRegistry.Stored] = [:]
  ) throws(NotelogError) -> [UInt16: SchemaRegistry.Stored] {
    let end = bytes.byteCount - checksumByteCount
    guard bytes.byteCount <= Limits.schemaFileBytes, end >= headByteCount,
      bytes.extracting(0..<magic.count).array() == magic,
      bytes.load(UInt32.self, at: end) == Checksum.of(bytes.extracting(0..<end))
    else { throw NotelogError(.damaged, "\(name) does not check") }
    var cursor = SchemaCursor(bytes.extracting(0..<end))
    _ = try cursor.skip(magic.count, "the magic")
    guard try cursor.integer(as: UInt16.self, "the version") == version else {
      throw NotelogError(.unsupportedVersion, "\(name) has another version")
    }
    try cursor.reserved(2, "the schemas' file")
    let byteCount = try cursor.integer(as: UInt32.self, "the size")
    let id = ID16(try cursor.array(16, "the store's id"))
    let count = try cursor.integer(as: UInt32.self, "the number of schemas")
    try cursor.reserved(4, "the schemas' file")
    guard byteCount == bytes.byteCount, id == storeID, count <= Limits.collections else {
      throw NotelogError(.damaged, "\(name) has another length, or is another store's")
    }
    var schemas: [UInt16: SchemaRegistry.Stored] = [:]
    var last: UInt16 = 0
    for _ in 0..<count {
      let length = Int(try cursor.integer(as: UInt32.self, "a schema's length"))
      let start = try cursor.skip(length, "a schema")
      let stored = try SchemaRegistry.Stored(
        parsing: bytes.extracting(start..<start + length), of: storeID, vault, knowing: known)
      guard stored.plan.number > last else { throw NotelogError(.damaged, "the schemas don't ascend") }
      last = stored.plan.number
      schemas[last] = stored
    }
    guard cursor.remaining == 0 else { throw NotelogError(.damaged, "bytes follow the schemas") }
    return schemas
  }
}

extension SchemaRegistry.Stored {
  /// How many bytes schema and MAC have.
  var byteCount: Int { bytes.count + mac.count }

  /// Reads a schema and the MAC behind it, which is checked at unlock, and makes it ready for use: with the
  /// vault, which tells generations of one key, where values are to be sealed. One that is known is taken.
  init(
    parsing both: RawSpan, of storeID: ID16, _ vault: Vault?, knowing known: [UInt16: Self] = [:]
  ) throws(NotelogError) {
    guard both.byteCount > StoredSchema.macByteCount else {
      throw NotelogError(.damaged, "a schema has no MAC")
    }
    let split = both.byteCount - StoredSchema.macByteCount
    let bytes = both.extracting(0..<split)
    let mac = both.extracting(split..<both.byteCount)
    if let same = StoredSchema.collection(of: bytes).flatMap({ known[$0] }),
      same.bytes.rawSpan.elementsEqual(bytes), same.mac.rawSpan.elementsEqual(mac)
    {
      self = same
      return
    }
    self.init(
      plan: try CollectionPlan(StoredSchema(parsing: bytes), storeID: storeID, vault), bytes: bytes.array(),
      mac: mac.array())
  }
}

// MARK: - Schemas stand in two places, the log and the file `schemas`: which of the two counts, and what is mended (FORMAT.md 9.3).

/// The schemas of a store as both places have them.
struct SchemaCopies: Sendable {
  /// The schemas in force, by the numbers of their collections.
  private(set) var chosen: [UInt16: SchemaRegistry.Stored] = [:]
  /// The collections whose schema comes from the file: their records in the log can't be read, are missing,
  /// or are older.
  private(set) var fromFile: Set<UInt16> = []
  /// How many records of collection 0 the log has that can be read, whatever they hold.
  private(set) var countInLog = 0
  /// The revisions of the records of the log, of those too that can't be read.
  private(set) var revisions: [ID16: UInt64] = [:]
  private(set) var finding = SchemaFinding()

  /// Reads the schemas of a log, and then what the file offers, which is never older.
  ///
  /// - Parameters:
  ///   - journal: The log.
  ///   - file: The file.
  ///   - vault: The keys, where the schemas are to be used.
  ///   - stale: Schemas' records that may not be the newest, beside those that the log itself says it of.
  /// - Throws: `closed`.
  init(
    of journal: Journal, and file: SchemaFile, _ vault: Vault? = nil, stale: Set<ID16> = []
  ) throws(NotelogError) {
    var buffer = ReadBuffer()
    var possiblyStale: Set<UInt16> = []
    var unreadable: Set<UInt16> = []
    for key in journal.listedRecords {
      do throws(NotelogError) {
        let found = try journal.records.read(key, into: &buffer)
        guard let found else { continue }
        revisions[key] = found.revision
        guard found.collection == SchemaRecord.collection else { continue }
        countInLog += 1
        let stored = try Self.parse(buffer.body, key, journal.storeID, vault)
        chosen[stored.plan.number] = stored
        if found.isPossiblyStale || stale.contains(key) { possiblyStale.insert(stored.plan.number) }
      } catch {
        // A schema that can't be read costs its collection at most, and so does what can't be a schema: no
        // key is needed to write that.
        if error.code == .closed { throw error }
        revisions[key] = try? journal.revision(of: key)
        if let number = SchemaRecord.number(key) {
          unreadable.insert(UInt16(number))
        } else {
          finding.strayCount += 1
        }
      }
    }
    let file = file.read(of: journal.storeID, vault, knowing: chosen)
    let offered = file.content ?? [:]
    let isEmpty = chosen.isEmpty && unreadable.isEmpty
    if file.state != .missing || !isEmpty { finding.file = file.state }
    if finding.file == .sound, chosen.keys.contains(where: { offered[$0] == nil }) { finding.file = .older }
    for (number, copy) in offered {
      let logged = chosen[number]
      let (new, old) = (copy.plan.schema.revision, logged?.plan.schema.revision ?? 0)
      if logged == nil || new > old && possiblyStale.contains(number) {
        chosen[number] = copy
        fromFile.insert(number)
      } else if new < old, finding.file == .sound {
        finding.file = .older
      } else if new == old, copy.bytes != logged?.bytes || copy.mac != logged?.mac {
        finding.file = .different
      }
    }
    finding.servedByFile = unreadable.intersection(fromFile).sorted()
    finding.lost = unreadable.subtracting(fromFile).sorted()
  }

  private static func parse(
    _ body: RawSpan, _ key: ID16, _ storeID: ID16, _ vault: Vault?
  ) throws(NotelogError) -> SchemaRegistry.Stored {
    guard let entry = try RecordBody(checking: body).find(SchemaRecord.field), entry.type == .bytes,
      entry.flags.isEmpty
    else { throw NotelogError(.damaged, "a schema's record doesn't hold a schema") }
    let stored = try SchemaRegistry.Stored(parsing: body.extracting(entry.range), of: storeID, vault)
    guard SchemaRecord.key(stored.plan.number) == key else {
      throw NotelogError(.tampered, "the schema of \(stored.plan.schema.name) stands in another's place")
    }
    return stored
  }

  /// Makes both places whole again in a store that is open for writing, as far as that can be done now: what
  /// can't, the next opening tries again.
  ///
  /// - Returns: Whether records were written.
  func mend(_ journal: Journal, _ file: SchemaFile, of storeID: ID16) -> Bool {
    guard journal.holdsLock, (try? journal.checkWritable()) != nil else { return false }
    if !fromFile.isEmpty { try? storeFromFile(in: journal) }
    // What is unreadable now, and may hold what is lost, is not written over.
    // What differs without a reason is left for somebody to look at.
    if finding.file != .sound, finding.file != .different, finding.lost.isEmpty {
      try? file.replace(with: Array(chosen.values), of: storeID)
    }
    return !fromFile.isEmpty
  }

  /// Writes the records of schemas that came from the file.
  func storeFromFile(in journal: Journal) throws(NotelogError) {
    var batch = Batch()
    for number in fromFile.sorted() { chosen[number]?.put(in: &batch) }
    _ = try journal.commit(&batch)
  }
}

/// What the two places of the schemas were like when the store was opened.
struct SchemaFinding: Sendable, Equatable {
  /// What the file is like: older where it lacks a schema that the log has, or has an earlier one.
  var file = CopyState.sound
  /// The collections whose schema can't be read in the log, and is served by the file.
  var servedByFile: [UInt16] = []
  /// The collections whose schema can't be read at all.
  var lost: [UInt16] = []
  /// How many records of collection 0 have ids that are no schema's.
  var strayCount = 0

  /// Whether it is more than a change that reached one of the places only.
  var isDamage: Bool { file.isDamage || !servedByFile.isEmpty || !lost.isEmpty || strayCount > 0 }

  /// The finding in words.
  var words: String {
    var parts: [String] = []
    switch file {
    case .sound: break
    case .older, .missing, .unreadable: parts.append("\(SchemaFile.name) is \(file)")
    case .different: parts.append("\(SchemaFile.name) and the log disagree")
    }
    if !servedByFile.isEmpty {
      parts.append("of \(Self.list(servedByFile)) damaged in the log, \(SchemaFile.name) serves")
    }
    if !lost.isEmpty { parts.append("of \(Self.list(lost)) lost") }
    if strayCount > 0 { parts.append("records of collection 0 that are no schemas: \(strayCount)") }
    return parts.isEmpty ? "sound" : parts.joined(separator: "; ")
  }

  /// Some collections' numbers: the first ten, and how many more.
  private static func list(_ numbers: [UInt16]) -> String {
    let more = numbers.count > 10 ? " and \(numbers.count - 10) more" : ""
    let shown = numbers.prefix(10).map(String.init).joined(separator: ", ")
    return (numbers.count == 1 ? "collection " : "collections ") + shown + more
  }
}

extension SchemaRegistry.Stored {
  /// Puts the schema's record into a batch.
  func put(in batch: inout Batch) {
    let entry = FieldEntry(
      number: SchemaRecord.field, type: .bytes, flags: [], keyReference: 0, range: 0..<byteCount)
    batch.put(
      SchemaRecord.key(plan.number), collection: SchemaRecord.collection,
      bodyByteCount: DirectoryWriter.byteCount(fieldCount: 1) + byteCount
    ) { body in
      var directory = DirectoryWriter(fieldCount: 1, into: &body)
      let range = directory.add(entry, into: &body)
      body.copy(bytes.rawSpan, at: range.lowerBound)
      body.copy(mac.rawSpan, at: range.lowerBound + bytes.count)
    }
  }
}
