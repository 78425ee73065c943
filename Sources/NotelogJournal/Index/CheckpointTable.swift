// Where the items of the checkpoint's tables lie: docs/format-derived.md §31.

/// A table of items of one size in blocks of its own; no item lies across two.
package struct CheckpointTable {
  package let itemByteCount: Int
  package let count: Int
  package let firstBlock: Int

  private var itemsInBlock: Int { CheckpointBlock.contentByteCount / itemByteCount }
  /// The first block behind it.
  package var endBlock: Int { firstBlock + (count + itemsInBlock - 1) / itemsInBlock }

  /// Where an item begins in the file.
  package func place(of index: Int) -> Int {
    (firstBlock + index / itemsInBlock) * CheckpointBlock.byteCount + index % itemsInBlock * itemByteCount
  }
}
