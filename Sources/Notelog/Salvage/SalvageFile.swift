// One file of a pile of segments, and what it is: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// A file that frames are looked for in.
struct SalvageFile {
  let name: String
  let file: ForgivingFile
  let byteCount: Int
  let header: SegmentHeader?
  let trailer: Trailer?
  /// What frame headers are checked with; found late where the header is lost.
  var salt: SegmentSalt?
  /// The header's number, or the one in the name where there is no header; found late where neither is there.
  var number: UInt32?
  /// Whether something else holds what is live of it.
  var isReplaced = false
  /// Where a recovery cut it; what is behind that counts no longer.
  var keptByteCount = Int.max

  /// Whether all frames in it happened: it was finished, or is all copies.
  var isFinished: Bool { trailer != nil || header.map { $0.kind != .log } ?? false }
  var isCompacted: Bool { header?.kind == .compacted }
  /// How a live set would name it.
  var entry: LiveEntry? {
    guard let header, let trailer else { return nil }
    return LiveEntry(
      number: header.number, byteCount: byteCount, salt: header.salt, footerChecksum: trailer.footerChecksum)
  }

  /// Reads what a file says of itself; nothing where it can't be opened, or is no file.
  init?(_ name: String, in storage: any Storage) {
    guard
      let base = try? storage.openFile(name, .read),
      let length = try? base.byteCount()
    else { return nil }
    self.name = name
    byteCount = min(length, FormatLimits.maximumSegmentByteCount)
    file = ForgivingFile(base, byteCount: byteCount)
    let trailer = try? Trailer.read(file, byteCount: byteCount)
    self.trailer = trailer
    let places = [0, Layout.headerCopyOffset, trailer.map { $0.footerOffset + Layout.frameHeaderByteCount }]
    let copies = places.compactMap(\.self).compactMap { [file] in try? Survey.readHeader(file, at: $0) }
    // The first that is valid; where others are of another segment, that under which something was written.
    let isOne = copies.allSatisfy { $0.salt == copies[0].salt }
    header =
      isOne
      ? copies.first
      : copies.first { [file, byteCount] in
        (try? Self.hasFrame(file, byteCount, under: SegmentSalt($0.salt))) == true
      } ?? copies.first
    salt = header.map { SegmentSalt($0.salt) }
    // A segment's name is what a file's name may begin with: `000000000007.journal.bak` was a copy of that segment.
    number = header?.number ?? FileName.segmentNumber(String(name.prefix(20)))
  }

  /// A reader of its frames; only once the salt is known.
  func reader() -> SegmentReader {
    SegmentReader(file, salt: salt ?? SegmentSalt(0), end: byteCount)
  }

  /// Whether any frame of a file checks under a salt.
  static func hasFrame(
    _ file: any StorageFile, _ byteCount: Int, under salt: SegmentSalt
  ) throws(StorageError) -> Bool {
    var reader = SegmentReader(file, salt: salt, end: byteCount)
    return try reader.nextFrame(from: Layout.firstFrameOffset) != nil
  }
}
