// The index's checkpoint: FORMAT.md 14.

@testable import NotelogJournal

/// Opens a sound store beside a checkpoint that was changed.
enum CheckpointTarget: FuzzTarget {
  /// The first byte says whether the blocks' checksums are made to fit; the others are ``Edits``.
  static func seeds() -> [[UInt8]] {
    [[1], [0, 0, 12, 0, 9], [1, 0, 12, 0, 9], [1, 3, 0, 16, 0, 16], [1, 2, 0, 16]]
  }

  static func run(_ input: [UInt8]) throws {
    var reader = InputReader(input)
    let isSealed = reader.integer(UInt8.self) & 1 == 1
    var files = SampleStore.files
    var index = files[FileName.index] ?? []
    Edits.apply(&reader, to: &index)
    if isSealed { seal(&index) }
    files[FileName.index] = index
    _ = try? Journal.verify(MemoryStorage(files))
    if let journal = try? StoreUse.open(MemoryStorage(files), isReadOnly: true) { StoreUse.readAll(journal) }
    try StoreUse.goOn(in: MemoryStorage(files))
  }

  /// Makes every whole block one of this file.
  private static func seal(_ index: inout [UInt8]) {
    guard index.count >= CheckpointBlock.byteCount else { return }
    let salt = index.withBytes { $0.load(UInt64.self, at: CheckpointBlock.contentByteCount) }
    var buffer = Buffer()
    let rest = index.count % CheckpointBlock.byteCount
    Array(index.dropLast(rest)).withBytes { buffer.append($0) }
    CheckpointBlock.seal(&buffer, salt: salt, first: 0)
    index = Array(copying: buffer.bytes) + index.suffix(rest)
  }
}
