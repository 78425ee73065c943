// The short way into a store that was closed in order: FORMAT.md §12, "The short way".

/// A store that ends in a close mark and whose files are those that were there when it was written.
///
/// Nothing is read but the checkpoint, the head, and what is newer than the checkpoint. Of the other segments only the
/// names are looked at: a store may have a thousand of them.
struct ClosedStore {
  let checkpoint: CheckpointFile
  let head: FoundSegment
  let closing: Closing
  let live: LiveSet
  /// All segments, those that were not read to be opened when they are.
  let segments: [Segment]
  /// The highest segment number that any name bears.
  let highestNumber: UInt32

  /// Where the log ends, and up to where everything is durable.
  var end: LogPosition { LogPosition(segment: head.number, offset: closing.range.upperBound) }
  var floor: LogPosition { LogPosition(segment: head.number, offset: closing.range.lowerBound) }

  /// Nothing where anything at all is not as it should be: then the store has to be examined.
  init?(_ storage: any Storage, storeID: StoreID?) throws(JournalError) {
    guard let checkpoint = CheckpointFile.find(in: storage).found,
      storeID == nil || storeID == checkpoint.head.storeID
    else { return nil }
    let names = try journaling { () throws(StorageError) in try storage.names(in: "") }
    if names.contains(where: { $0.hasSuffix(FileName.partialSuffix) }) { return nil }
    let files = names.compactMap { name in
      FileName.segmentNumber(name).map { (number: $0, name: name) }
    }.sorted { $0.number < $1.number }
    let known = checkpoint.head.segmentsByNumber
    var read: [UInt32: FoundSegment] = [:]
    for file in files where !checkpoint.head.covers(known[file.number]) {
      guard let found = try Survey.read(file.name, file.number, storage),
        found.isIntact(of: checkpoint.head.storeID)
      else { return nil }
      read[file.number] = found
    }
    do throws(StorageError) {
      guard let head = read.values.filter(\.header.kind.isLog).max(by: { $0.number < $1.number }),
        let closing = try head.closing(),
        let live = try Self.live(checkpoint.head, head, closing),
        files.count == live.count + 1
      else { return nil }
      var segments = [Segment(head, entry: nil)]
      // Both in order of number: but for the head, each file is the next live segment's.
      for (entry, file) in zip(live.entries, files.lazy.filter { $0.number != head.number }) {
        guard entry.number == file.number,
          let segment = Self.segment(entry, file.name, read[entry.number], known[entry.number], storage)
        else { return nil }
        segments.append(segment)
      }
      self.checkpoint = checkpoint
      self.head = head
      self.closing = closing
      self.live = live
      self.segments = segments
    } catch { throw JournalError(error) }
    let tailNumber = try Survey.highestTailNumber(in: storage, names)
    highestNumber = max(files.last?.number ?? 0, tailNumber ?? 0)
    // A witness of more than the head holds says that the head is not what it was.
    let floor = floor
    guard checkpoint.head.covered <= floor,
      read.values.allSatisfy({ $0.header.floor <= floor })
    else { return nil }
  }

  /// The live set that the close mark speaks of: the checkpoint's, where nothing came or went since, or else the head's.
  private static func live(
    _ checkpoint: CheckpointHead, _ head: FoundSegment, _ closing: Closing
  ) throws(StorageError) -> LiveSet? {
    var live = LiveSet()
    for figures in checkpoint.segments where figures.isFinished { live.insert(figures.entry) }
    if closing.mark.speaks(of: live) { return live }
    var reader = SegmentReader(head.file, salt: head.salt, end: closing.range.lowerBound)
    guard let beginning = try reader.liveSet(of: head.header) else { return nil }
    live = beginning.set
    if closing.mark.speaks(of: live) { return live }
    try reader.applyLiveChanges(to: &live, from: beginning.end, to: closing.range.lowerBound)
    return closing.mark.speaks(of: live) ? live : nil
  }

  /// A segment of the live set, if it is what was read, or what the checkpoint speaks of.
  private static func segment(
    _ entry: LiveEntry, _ name: String, _ found: FoundSegment?, _ figures: CheckpointHead.SegmentFigures?,
    _ storage: any Storage
  ) -> Segment? {
    if let found { return found.entry == entry ? Segment(found, entry: entry) : nil }
    guard let figures else { return nil }
    return Segment(
      number: entry.number, kind: figures.kind, salt: SegmentSalt(entry.salt),
      file: DeferredFile(name, in: storage), entry: entry)
  }
}

extension CheckpointHead {
  /// Whether everything is in the checkpoint that was ever written to a segment, which is one of its own or isn't.
  ///
  /// Segments of the log from the covered position on are new, or were empty then, or have only their beginning covered.
  func covers(_ segment: SegmentFigures?) -> Bool {
    guard let segment else { return false }
    return !segment.kind.isLog || segment.number < covered.segment
  }
}

extension FoundSegment {
  /// Whether the header is a store's, and all of its copies are there, and a writer of this version may go on.
  fileprivate func isIntact(of storeID: StoreID) -> Bool {
    header.storeID == storeID && header.number == number && badCopies.isEmpty && header.writeFlags == 0
  }

  /// The close mark that the segment ends in; nothing where it ends otherwise.
  func closing() throws(StorageError) -> Closing? {
    var reader = SegmentReader(file, salt: salt, end: byteCount)
    return try reader.closing()
  }
}
