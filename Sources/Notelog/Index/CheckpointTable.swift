// Where the items of the checkpoint's tables lie: docs/format-derived.md §31.

/// A table of items of one size in blocks of its own; no item lies across two.
struct CheckpointTable {
  let itemByteCount: Int
  let count: Int
  let firstBlock: Int

  private var itemsInBlock: Int { CheckpointBlock.contentByteCount / itemByteCount }
  /// The first block behind it.
  var endBlock: Int { firstBlock + (count + itemsInBlock - 1) / itemsInBlock }

  /// Where an item begins in the file.
  func place(of index: Int) -> Int {
    (firstBlock + index / itemsInBlock) * CheckpointBlock.byteCount + index % itemsInBlock * itemByteCount
  }
}
