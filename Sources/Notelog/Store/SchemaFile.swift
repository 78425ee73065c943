// The schemas' second copy: the file `schemas`, replaced in one step (FORMAT.md 21.3).

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogCrypto

/// Reads and replaces the file `schemas`.
struct SchemaFile: Sendable {
  /// A schema with its MAC, read and not yet made ready for use: where the log has the same bytes, it isn't needed.
  struct Entry: Sendable {
    let schema: StoredSchema
    let bytes: [UInt8]
    let mac: [UInt8]

    /// Reads a schema and the MAC behind it, which is checked at unlock.
    init(parsing both: RawSpan) throws(NotelogError) {
      guard both.byteCount > StoredSchema.macByteCount else {
        throw NotelogError(.damaged, "a schema has no MAC")
      }
      let split = both.byteCount - StoredSchema.macByteCount
      schema = try StoredSchema(parsing: both.extracting(0..<split))
      bytes = both.extracting(0..<split).array()
      mac = both.extracting(split..<both.byteCount).array()
    }
  }

  /// What is found under the file's name.
  enum Content: Sendable {
    /// There is no such file.
    case missing
    /// It can't be read, or does not check, or is another store's.
    case unreadable
    /// The schemas in it, by the numbers of their collections.
    case sound([UInt16: Entry])

    /// The schemas that it offers.
    var schemas: [UInt16: Entry] {
      guard case .sound(let schemas) = self else { return [:] }
      return schemas
    }
  }

  static let name = FileName.schemas
  private static let magic: [UInt8] = Array("NLschm\r\n".utf8)
  private static let version: UInt16 = 1
  private static let headByteCount = 40
  private static let checksumByteCount = 4

  let storage: any Storage

  /// Reads the file. Whatever stands in the way is no error: it is the second copy.
  func read(of storeID: ID16) -> Content {
    guard let bytes = contents() else { return .missing }
    guard let schemas = try? Self.parse(bytes.rawSpan, of: storeID) else { return .unreadable }
    return .sound(schemas)
  }

  /// Replaces the file, durably. A crash at any moment leaves the old one or the new one.
  func replace(with schemas: [SchemaRegistry.Stored], of storeID: ID16) throws(NotelogError) {
    try keep(try Self.encoded(schemas, of: storeID))
  }

  /// Brings the file along to another folder, where it is sound; what is there stays otherwise.
  func copy(to target: any Storage, of storeID: ID16) throws(NotelogError) {
    guard let bytes = contents(), (try? Self.parse(bytes.rawSpan, of: storeID)) != nil else { return }
    try SchemaFile(storage: target).keep(bytes)
  }

  private func keep(_ bytes: [UInt8]) throws(NotelogError) {
    do { try storage.replaceWhole(Self.name, with: bytes) } catch {
      throw NotelogError(error, "writing the schemas' second copy")
    }
  }

  /// The file's bytes; none where it can't be read, nil where there is none.
  private func contents() -> [UInt8]? {
    do throws(StorageError) { return try storage.readWhole(Self.name, upTo: Limits.schemaFileBytes) } catch {
      return error.errno == SystemErrno.notFound ? nil : []
    }
  }
}

extension SchemaFile {
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
    var bytes: [UInt8] = []
    bytes += magic
    bytes.append(littleEndian: version)
    bytes.append(littleEndian: 0 as UInt16)
    bytes.append(littleEndian: UInt32(byteCount))
    bytes.append(littleEndian: storeID.low)
    bytes.append(littleEndian: storeID.high)
    bytes.append(littleEndian: UInt32(entries.count))
    bytes.append(littleEndian: 0 as UInt32)
    for entry in entries {
      bytes.append(littleEndian: UInt32(entry.byteCount))
      bytes += entry.bytes
      bytes += entry.mac
    }
    bytes.append(littleEndian: Checksum.of(bytes.rawSpan))
    return bytes
  }

  /// The schemas in a file's bytes; their MACs are checked at unlock.
  static func parse(
    _ bytes: RawSpan, of storeID: ID16
  ) throws(NotelogError) -> [UInt16: Entry] {
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
    let id = ID16(
      low: try cursor.integer(as: UInt64.self, "the store's id"),
      high: try cursor.integer(as: UInt64.self, "the store's id"))
    let count = try cursor.integer(as: UInt32.self, "the number of schemas")
    try cursor.reserved(4, "the schemas' file")
    guard byteCount == bytes.byteCount, id == storeID, count <= Limits.collections else {
      throw NotelogError(.damaged, "\(name) has another length, or is another store's")
    }
    var schemas: [UInt16: Entry] = [:]
    var last: UInt16 = 0
    for _ in 0..<count {
      let length = Int(try cursor.integer(as: UInt32.self, "a schema's length"))
      let start = try cursor.skip(length, "a schema")
      let entry = try Entry(parsing: bytes.extracting(start..<start + length))
      guard entry.schema.collection > last else { throw NotelogError(.damaged, "the schemas don't ascend") }
      last = entry.schema.collection
      schemas[last] = entry
    }
    guard cursor.remaining == 0 else { throw NotelogError(.damaged, "bytes follow the schemas") }
    return schemas
  }
}

extension SchemaRegistry.Stored {
  /// How many bytes schema and MAC have.
  var byteCount: Int { bytes.count + mac.count }

  /// Makes a schema ready for use.
  init(_ entry: SchemaFile.Entry, of storeID: ID16) throws(NotelogError) {
    self.init(
      plan: try CollectionPlan(entry.schema, storeID: storeID), bytes: entry.bytes, mac: entry.mac)
  }
}
