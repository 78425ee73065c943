// A backup's manifest: FORMAT.md 26.

@testable import NotelogStorage
@testable import NotelogFormat
@testable import NotelogBase
@testable import Notelog

/// Restores a sound backup whose manifest was changed.
enum ManifestTarget: FuzzTarget {
  private static let backup: [String: [UInt8]] = {
    let target = MemoryStorage([:])
    do { _ = try Journal.backup(from: MemoryStorage(SampleStore.files), to: target, random: 1) } catch {
      fatalError("the sample could not be backed up: \(error)")
    }
    return target.contents
  }()

  /// The first byte says whether the checksum is made to fit; the others are ``Edits``.
  static func seeds() -> [[UInt8]] {
    [
      [1], [0, 0, 12, 0, 9], [1, 0, 0x44, 2, 9], [1, 3, 0x40, 2, 24, 0], [1, 2, 0x4C, 2], [1, 0, 64, 0, 9],
    ]
  }

  static func run(_ input: [UInt8]) throws {
    var reader = InputReader(input)
    let isSealed = reader.integer(UInt8.self) & 1 == 1
    var files = backup
    var manifest = files[BackupManifest.fileName] ?? []
    Edits.apply(&reader, to: &manifest)
    if isSealed, manifest.count >= 4 {
      manifest.set(Checksum.of(Array(manifest.dropLast(4)).rawSpan), at: manifest.count - 4)
    }
    files[BackupManifest.fileName] = manifest
    files[BackupManifest.copyName] = nil
    let target = MemoryStorage([:])
    _ = try Journal.restore(from: MemoryStorage(files), to: target)
    try StoreUse.goOn(in: target)
  }
}
