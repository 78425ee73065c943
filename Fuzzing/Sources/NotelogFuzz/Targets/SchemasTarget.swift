// The schemas' second copy: FORMAT.md 21.3, and the way of a stored schema into an open store.

@testable import Notelog
@testable import NotelogBase
@testable import NotelogCrypto
@testable import NotelogFormat
@testable import NotelogStorage

/// Opens a store whose file `schemas` was changed, with and without the schemas' records in its log.
enum SchemasTarget: FuzzTarget {
  private static let credential = Credential.key([UInt8](repeating: 4, count: 32))

  private struct Sample {
    /// A store with two schemas in its file, and no record of them in its log.
    let files: [String: [UInt8]]
    let storeID: ID16
  }

  private static let sample: Sample = {
    do { return try make() } catch { fatalError("the sample store could not be made: \(error)") }
  }()

  private static func make() throws -> Sample {
    let disk = MemoryStorage()
    let store = try Store.create(in: disk, unlocking: credential, options: Store.Options())
    let plans = try [UInt16(1), 2].map { number in
      let fields = [
        StoredField(
          number: 1, type: .text, firstName: "title", name: "title", flags: [], isIndexed: false,
          isRetired: false,
          keys: []),
        StoredField(
          number: 2, type: .integer, firstName: "count", name: "amount", flags: [.optional], isIndexed: true,
          isRetired: number == 2, keys: []),
      ]
      return try CollectionPlan(
        StoredSchema(
          collection: number, revision: 3, firstName: "first\(number)", name: "name\(number)", fields: fields),
        storeID: store.storeID)
    }
    let stored = plans.map { plan in
      SchemaRegistry.Stored(
        plan: plan, bytes: plan.schema.encoded(), mac: [UInt8](repeating: 7, count: StoredSchema.macByteCount)
      )
    }
    try SchemaFile(storage: disk).replace(with: stored, of: store.storeID)
    try store.close()
    return Sample(files: disk.contents, storeID: store.storeID)
  }

  /// The first byte says whether the checksum is made to fit; the others are ``Edits``.
  static func seeds() -> [[UInt8]] {
    [[1], [0, 0, 12, 0, 9], [1, 0, 48, 0, 9], [1, 3, 40, 0, 24, 0], [1, 2, 90, 0], [1, 0, 64, 0, 9]]
  }

  static func run(_ input: [UInt8]) throws {
    var reader = InputReader(input)
    let isSealed = reader.integer(UInt8.self) & 1 == 1
    var bytes = sample.files[SchemaFile.name] ?? []
    Edits.apply(&reader, to: &bytes)
    if isSealed, bytes.count >= 4 {
      bytes.set(Checksum.of(Array(bytes.dropLast(4)).rawSpan), at: bytes.count - 4)
    }
    if let schemas = try? SchemaFile.parse(bytes.rawSpan, of: sample.storeID) {
      let again = try SchemaFile.encoded(Array(schemas.values), of: sample.storeID)
      expect(again == bytes, "schemas are written as other bytes than they were read from")
    }
    var files = sample.files
    files[SchemaFile.name] = bytes
    let disk = MemoryStorage(files)
    let store = try Store.open(in: disk, unlocking: nil, options: Store.Options())
    _ = store.collections
    _ = try? store.collectionsWithoutSchema()
    try? store.unlock(credential)
    try store.close()
  }
}
