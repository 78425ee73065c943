// Walks a store's frames as recovery does, for its speed to be measured: FORMAT.md §5 and §12.

import NotelogFormat
package import NotelogStorage

/// What recovery does with the frames it walks over; each case does what the one before does, and more.
package enum FrameWalk: String, Sendable, CaseIterable {
  /// Checks headers.
  case headers
  /// Takes every frame into an index.
  case index
  /// Checks payloads too.
  case payloads

  /// Walks all segments of a store that nobody has open.
  ///
  /// - Returns: How many frames there were, and the bytes of the segments.
  package func run(_ storage: any Storage) throws(JournalError) -> (frameCount: Int, byteCount: Int) {
    let survey = try Survey(storage, storeID: nil)
    let catalog = Catalog(key: JournalOptions().fingerprintKey)
    var frameCount = 0
    var byteCount = 0
    do {
      for found in survey.segments.values.sorted(by: { $0.number < $1.number }) {
        let segment = Segment(found, entry: found.entry)
        catalog.segments.insert(segment)
        let end = found.trailer?.footerOffset ?? found.byteCount
        var reader = SegmentReader(found.file, salt: found.header.salt, end: end)
        try reader.forEachContentFrame(
          from: Layout.firstFrameOffset, to: end, checkingPayloads: self == .payloads
        ) { (finding, _) throws(StorageError) in
          guard case .content(let entry, _) = finding else { return }
          frameCount += 1
          if self != .headers { try catalog.take(entry, in: segment) }
        }
        byteCount += end
      }
    } catch { throw JournalError(error) }
    return (frameCount, byteCount)
  }
}
