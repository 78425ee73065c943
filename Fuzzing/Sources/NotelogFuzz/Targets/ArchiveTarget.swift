// Archives: names of objects, and what is in them. FORMAT.md 26.

@testable import NotelogStorage
@testable import NotelogFormat
@testable import NotelogBase
@testable import Notelog

/// Restores, verifies and goes on with a sound archive in which an object was changed, renamed or added.
enum ArchiveTarget: FuzzTarget {
  private static let archive: [(name: String, bytes: [UInt8])] = {
    let target = MemoryStorage([:])
    do { try Shipper(MemoryStorage(SampleStore.files), to: FolderArchive(target), clock: { 1 }).ship() } catch
    {
      fatalError("the sample could not be shipped: \(error)")
    }
    return target.contents.map { ($0, $1) }.sorted { $0.name < $1.name }
  }()

  private static let renames: UInt8 = 1
  private static let seals: UInt8 = 2
  private static let adds: UInt8 = 4

  /// The first byte chooses an object; the second says whether its name is changed too, whether a piece's name
  /// says its checksum, and whether the object before stays. Then come ``Edits`` of the name, counted, and of
  /// the bytes.
  static func seeds() -> [[UInt8]] {
    archive.indices.map(UInt8.init(truncatingIfNeeded:)).flatMap { object in
      [
        [object, 0, 0, 16, 9], [object, seals, 0x44, 18, 9, 9], [object, seals, 2, 0x4C, 18],
        [object, renames, 4, 0, 0, 2, 0, 57], [object, renames | adds, 4, 0, 0, 11, 0, 57],
        [object, renames | seals | adds, 4, 0, 0, 40, 0, 57, 0, 64, 18, 9],
      ]
    }
  }

  static func run(_ input: [UInt8]) throws {
    var reader = InputReader(input)
    let (name, before) = archive[Int(reader.integer(UInt8.self)) % archive.count]
    let flags = reader.integer(UInt8.self)
    var (newName, bytes) = (Array(name.utf8), before)
    if flags & renames != 0 {
      var edits = InputReader(reader.counted())
      Edits.apply(&edits, to: &newName)
    }
    Edits.apply(&reader, to: &bytes)
    var files = Dictionary(uniqueKeysWithValues: archive.map { ($0.name, $0.bytes) })
    if flags & adds == 0 { files[name] = nil }
    files[sealed(String(decoding: newName, as: UTF8.self), bytes, flags)] = bytes
    let folder = FolderArchive(MemoryStorage(files))
    _ = try? Store.verify(folder)
    _ = try? Store.branches(of: folder)
    _ = try? Store.expired(in: folder, before: 0, now: .max)
    let target = MemoryStorage([:])
    defer { _ = try? Shipper(MemoryStorage(SampleStore.files), to: folder).ship(checkingAll: true) }
    _ = try Store.restore(folder, to: target)
    try StoreUse.goOn(in: target)
  }

  /// A name, or that of a piece with these bytes.
  private static func sealed(_ name: String, _ bytes: [UInt8], _ flags: UInt8) -> String {
    guard flags & seals != 0, let object = ArchivedObject(name: name), object.kind == .piece else {
      return name
    }
    let start = object.range.lowerBound
    return ArchivedObject(
      UInt32(object.number), salt: object.salt, start..<start + bytes.count, object.end,
      checksum: Checksum.of(bytes.rawSpan)
    ).name
  }
}
