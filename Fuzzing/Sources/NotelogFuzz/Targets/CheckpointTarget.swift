// The index's checkpoint with its orders: docs/format-derived.md 31.

@testable import NotelogStorage
@testable import Notelog
@testable import NotelogBase
@testable import NotelogFormat

/// Opens a sound store beside a checkpoint that was changed.
enum CheckpointTarget: FuzzTarget {
  /// The first byte says whether the blocks' checksums are made to fit; the others are ``Edits``.
  static func seeds() -> [[UInt8]] {
    let edits: [[UInt8]] = [
      [], [0, 12, 0, 9], [0, 0, 16, 1], [0, 0x48, 0, 2], [3, 0, 16, 0, 16], [2, 0, 16],
    ]
    return (UInt8(0)..<2).flatMap { first in edits.map { [first] + $0 } }
  }

  static func run(_ input: [UInt8]) throws {
    var reader = InputReader(input)
    let choice = reader.integer(UInt8.self)
    var files = SampleStore.files
    var bytes = files[FileName.index] ?? []
    Edits.apply(&reader, to: &bytes)
    if choice & 1 == 1 { seal(&bytes) }
    files[FileName.index] = bytes
    _ = try? Journal.verify(MemoryStorage(files))
    if let journal = try? StoreUse.open(MemoryStorage(files), isReadOnly: true) { StoreUse.readAll(journal) }
    try StoreUse.goOn(in: MemoryStorage(files))
  }

  /// Makes every whole block one of this file.
  private static func seal(_ bytes: inout [UInt8]) {
    guard bytes.count >= CheckpointBlock.byteCount else { return }
    let salt = bytes.rawSpan.load(UInt64.self, at: CheckpointBlock.contentByteCount)
    var buffer = Buffer()
    let rest = bytes.count % CheckpointBlock.byteCount
    buffer.append(Array(bytes.dropLast(rest)).rawSpan)
    CheckpointBlock.seal(&buffer, salt: salt, first: 0)
    bytes = buffer.bytes.array() + bytes.suffix(rest)
  }
}
