// A segment that the store reads or appends to.

import Synchronization

/// A segment of an open store.
final class Segment: Sendable {
  let number: UInt32
  let kind: SegmentKind
  let salt: SegmentSalt
  let file: any StorageFile
  private let liveByteCount = Atomic<Int>(0)
  /// How the live set identifies it, once it is finished.
  let entry: LiveEntry?

  init(number: UInt32, kind: SegmentKind, salt: SegmentSalt, file: any StorageFile, entry: LiveEntry?) {
    self.number = number
    self.kind = kind
    self.salt = salt
    self.file = file
    self.entry = entry
  }

  /// The bytes of live frames in it, with their footer entries.
  var liveBytes: Int { liveByteCount.load(ordering: .relaxed) }

  /// Counts bytes that became live, or died.
  func addLive(_ byteCount: Int) { liveByteCount.add(byteCount, ordering: .relaxed) }

  /// The length of its file, once it is finished.
  var byteCount: Int { entry?.byteCount ?? 0 }

  var name: String { FileName.segment(number) }
}
