// The trailer at a file's end: FORMAT.md §4.

import NotelogBase
package import NotelogStorage

extension Trailer {
  /// The trailer at the end of a file of that many bytes; nothing where there is none that points where a footer can be.
  package static func read(_ file: any StorageFile, byteCount: Int) throws(StorageError) -> Trailer? {
    let start = byteCount - Layout.trailerByteCount
    guard start >= Layout.firstFrameOffset else { return nil }
    var buffer = Buffer(capacity: Layout.trailerByteCount)
    try buffer.fill(Layout.trailerByteCount, from: file, at: start)
    guard let trailer = Trailer(buffer.bytes, at: 0), trailer.footerOffset >= Layout.firstFrameOffset,
      trailer.footerOffset % 8 == 0,
      trailer.footerByteCount >= Layout.frameHeaderByteCount + Layout.footerPrefixByteCount,
      trailer.footerOffset + trailer.footerByteCount == start
    else { return nil }
    return trailer
  }
}
