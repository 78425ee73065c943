// A segment that the store reads or appends to.

import NotelogFormat
import NotelogStorage
import NotelogBase
import Synchronization

/// A segment of an open store.
final class Segment: Sendable {
  let number: UInt32
  let kind: SegmentKind
  let salt: SegmentSalt
  let file: any StorageFile
  private let figures: Figures
  /// How the live set identifies it, once it is finished.
  let entry: LiveEntry?
  /// Whether nothing is added to it any more: it is not the head.
  var isFinished: Bool { entry != nil }
  /// Where its frames end, if a recovery that was interrupted has cut it and not given it a footer yet.
  let cutEnd: Int?

  /// Whether a recovery has put another file in the place of its own; all that have the same file share it.
  private let replaced: Flag

  /// Whether a recovery has put another file in the place of its own.
  var isReplaced: Bool { replaced.isSet }

  /// Figures that change; a segment keeps them when it is finished.
  final class Figures: Sendable {
    fileprivate let live = Atomic<Int>(0)
    fileprivate let chunks = Atomic<Int>(0)
    fileprivate let visibleEnd = Atomic<Int>(0)
    fileprivate let deaths = Atomic<Int>(0)
    fileprivate let wholeSince: Atomic<Int>

    /// Figures of a segment of which nothing is known, or to which nothing has been written yet.
    init(isNew: Bool) { wholeSince = Atomic(isNew ? 0 : -1) }
  }

  init(
    number: UInt32, kind: SegmentKind, salt: SegmentSalt, file: any StorageFile, entry: LiveEntry?,
    cutEnd: Int? = nil, figures: Figures = Figures(isNew: false), replaced: Flag = Flag(false)
  ) {
    self.number = number
    self.kind = kind
    self.salt = salt
    self.file = file
    self.entry = entry
    self.cutEnd = cutEnd
    self.figures = figures
    self.replaced = replaced
  }

  /// The segment as it is once it is finished.
  func finished(as entry: LiveEntry) -> Segment {
    Segment(
      number: number, kind: kind, salt: salt, file: file, entry: entry, figures: figures, replaced: replaced)
  }

  /// The same in another file, which a recovery has put in its place. Who holds this one reads on in its file, and not in the blocks that
  /// are kept under its number.
  func finished(as entry: LiveEntry, in file: any StorageFile) -> Segment {
    _ = replaced.exchange(true)
    return Segment(number: number, kind: kind, salt: salt, file: file, entry: entry, figures: figures)
  }

  /// The bytes of live frames in it, with their footer entries. Chunks count once it is known which of them live.
  var liveBytes: Int { recordBytes + figures.chunks.load(ordering: .relaxed) }
  /// The bytes of live records and deletions among them.
  var recordBytes: Int { figures.live.load(ordering: .relaxed) }

  /// Counts bytes of records and deletions that became live, or died.
  func addLive(_ byteCount: Int) {
    figures.live.add(byteCount, ordering: .relaxed)
    if byteCount < 0 { noteDeath() }
  }

  // Whether all of the records in it are current. Where that is known, what goes through the segment need not look each
  // of them up in the index, which costs it a wait for memory.

  /// How often one of its frames died, as far as is known.
  var deathCount: Int { figures.deaths.load(ordering: .acquiring) }

  /// Notes that a frame is not current any more, or never was.
  func noteDeath() { figures.deaths.add(1, ordering: .acquiringAndReleasing) }

  /// Notes that all records were found to be current, by looking them up after there had been so many deaths.
  func noteWhole(since deathCount: Int) { figures.wholeSince.store(deathCount, ordering: .releasing) }

  /// Whether all records in it are known to be current now. Of what is being appended to, that is all that is visible.
  var isWhole: Bool { figures.wholeSince.load(ordering: .acquiring) == deathCount }

  /// Counts bytes of chunks that became live, or died.
  func addChunks(_ byteCount: Int) { figures.chunks.add(byteCount, ordering: .relaxed) }

  /// Notes that everything below an offset is visible, and so filled.
  func show(upTo end: Int) { figures.visibleEnd.store(end, ordering: .releasing) }

  /// Up to where its bytes never change again: all of them once it is finished, and until then what was written to it and
  /// is visible, as far as that is known.
  var visibleEnd: Int {
    cutEnd ?? entry?.byteCount ?? figures.visibleEnd.load(ordering: .acquiring)
  }

  /// The length of its file, once it is finished.
  var byteCount: Int { entry?.byteCount ?? 0 }

  var name: String { FileName.segment(number) }
}
