// The checkpoint's file: found at opening, written now and then. docs/format-derived.md §31.

import NotelogFormat
import NotelogStorage
import NotelogBase

/// The checkpoint that lies in a store's folder.
struct CheckpointFile: Sendable {
  let file: any StorageFile
  let head: CheckpointHead

  /// What looking for it gave.
  enum Finding {
    case missing
    case damaged
    case found(CheckpointFile)

    /// Where the checkpoint says that everything is durable.
    var found: CheckpointFile? {
      if case .found(let file) = self { return file }
      return nil
    }
  }

  /// Reads the checkpoint's head. What can't be read of it is as good as damaged: it is disposable.
  static func find(in storage: any Storage) -> Finding {
    let file: any StorageFile
    do { file = try storage.openFile(FileName.index, .read) } catch {
      return error.isMissing ? .missing : .damaged
    }
    if let head = try? CheckpointHead(from: file), let byteCount = try? file.byteCount(),
      byteCount >= head.blockCount * CheckpointBlock.byteCount
    {
      return .found(CheckpointFile(file: file, head: head))
    }
    file.close()
    return .damaged
  }

  /// Writes a checkpoint of all that an index held, under its temporary name, if the disk has room for that and so many bytes
  /// more: the last room is not for what can be made anew.
  static func write(
    _ head: CheckpointHead, _ index: borrowing IndexCopy, leaving byteCount: Int, to storage: any Storage
  ) throws(StorageError) -> any StorageFile {
    let name = FileName.index + FileName.partialSuffix
    let file = try storage.openEmpty(name)
    do throws(StorageError) {
      let room = 0..<head.blockCount * CheckpointBlock.byteCount + byteCount
      do { try retryingInterruptions { () throws(StorageError) in try file.allocate(room) } } catch {
        // Where space can't be promised, it can't be asked for either.
        guard error.isUnsupported else { throw error }
      }
      try file.setLength(0)
      var buffer = Buffer(capacity: pieceByteCount)
      head.append(to: &buffer)
      try file.writeAll(buffer.bytes, at: 0)
      var writer = EntryWriter(file: file, salt: head.salt, nextBlock: head.firstEntryBlock)
      try index.forEachShard { table throws(StorageError) in
        try table.forEach { entry throws(StorageError) in try writer.append(entry) }
      }
      try writer.finish()
    } catch {
      file.close()
      throw error
    }
    return file
  }

  /// Makes a file that was written durable, and gives it its name.
  static func publish(_ file: any StorageFile, in storage: any Storage) throws(StorageError) {
    let name = FileName.index + FileName.partialSuffix
    try file.makeDurable()
    try storage.publish(name, as: FileName.index)
  }

  private static let pieceByteCount = 1 << 20

  /// Collects entries into blocks.
  private struct EntryWriter: ~Copyable {
    let file: any StorageFile
    let salt: UInt64
    /// The number of the buffer's first block.
    var nextBlock: Int
    private var buffer = Buffer(capacity: pieceByteCount)
    /// Entries in the buffer's last block.
    private var filledCount = 0

    init(file: any StorageFile, salt: UInt64, nextBlock: Int) {
      self.file = file
      self.salt = salt
      self.nextBlock = nextBlock
    }

    mutating func append(_ entry: IndexEntry) throws(StorageError) {
      if filledCount == 0 { buffer.appendZeros(CheckpointBlock.byteCount) }
      let place = buffer.count - CheckpointBlock.byteCount + filledCount * IndexEntry.byteCount
      var bytes = buffer.mutableBytes
      bytes.store(entry.fingerprint, at: place)
      bytes.store(entry.place.bits, at: place + 8)
      filledCount = (filledCount + 1) % CheckpointBlock.entryCount
      if filledCount == 0, buffer.count >= pieceByteCount { try finish() }
    }

    /// Writes the blocks that are collected, the last one as it is.
    mutating func finish() throws(StorageError) {
      CheckpointBlock.seal(&buffer, salt: salt, first: nextBlock)
      try file.writeAll(buffer.bytes, at: nextBlock * CheckpointBlock.byteCount)
      nextBlock += buffer.count / CheckpointBlock.byteCount
      buffer.removeAll()
      filledCount = 0
    }
  }
}

extension CheckpointFile {
  /// Whether every block checks, and the entries are in order, in their shards, and as many as the head says.
  func isSound() throws(StorageError) -> Bool { try forEachEntry { _ in } }

  /// Calls `body` with each entry, in the order of fingerprints.
  ///
  /// - Returns: Whether every block checks, and the entries are in order, in their shards, and as many as the head says.
  func forEachEntry(_ body: (IndexEntry) -> Void) throws(StorageError) -> Bool {
    var buffer = Buffer()
    var last: UInt64 = 0
    var counts = [UInt32](repeating: 0, count: Index.shardCount)
    var tombstoneCounts = counts
    var entriesLeft = head.entryCount
    for block in head.firstEntryBlock..<head.blockCount {
      buffer.removeAll()
      try buffer.fill(CheckpointBlock.byteCount, from: file, at: block * CheckpointBlock.byteCount)
      guard CheckpointBlock.isSound(buffer.bytes, at: 0, number: block, salt: head.salt) else { return false }
      for index in 0..<min(entriesLeft, CheckpointBlock.entryCount) {
        let entry = IndexEntry(
          fingerprint: buffer.bytes.load(UInt64.self, at: index * IndexEntry.byteCount),
          place: FrameAddress(bits: buffer.bytes.load(UInt64.self, at: index * IndexEntry.byteCount + 8)))
        guard entry.fingerprint >= last, entry.place.isValid else { return false }
        counts[Int(entry.fingerprint >> 56)] += 1
        if entry.place.isTombstone { tombstoneCounts[Int(entry.fingerprint >> 56)] += 1 }
        last = entry.fingerprint
        body(entry)
      }
      entriesLeft -= min(entriesLeft, CheckpointBlock.entryCount)
    }
    return counts == head.entryCounts && tombstoneCounts == head.tombstoneCounts
  }
}
