// Reads one file of a pile frame by frame, past anything broken: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Finds the frames of a file that happened.
struct SalvageScan: ~Copyable {
  /// A frame that waits for its transaction's commit mark.
  private struct Pending {
    let header: FrameHeader
    let place: Int
    let isWhole: Bool
  }

  private let file: SalvageFile
  private let index: Int32
  private let floor: LogPosition
  /// Whether the frames only stand in for others.
  private let isReplaced: Bool
  private var reader: SegmentReader
  private let limit: Int
  private var pending: [Pending] = []
  private var sawMark = false
  private(set) var highestSequence: UInt64 = 0
  /// Where frames were that can't be read.
  private(set) var lost: [Range<Int>] = []

  init(_ file: SalvageFile, index: Int, floor: LogPosition, isReplaced: Bool, limit: Int) {
    self.file = file
    self.index = Int32(index)
    self.floor = floor
    self.isReplaced = isReplaced
    self.limit = min(limit, file.byteCount)
    reader = file.reader()
  }

  /// Scans from a place on.
  mutating func run(
    from start: Int, _ table: inout SalvageTable, _ report: inout SalvageSummary
  ) throws(StorageError) {
    var place = start
    var previous: FrameHeader?
    while let (next, header) = try reader.nextFrame(from: place), next < limit {
      if next > place {
        let behind = header.kind == .footer ? nil : header
        let gap = LostBytes(range: place..<next, previous: previous, next: behind)
        if gap.mayHoldContent(in: file.header?.kind ?? .compacted) { lose(gap.range, &report) }
      }
      previous = header
      if header.kind == .footer {
        place = limit
        break
      }
      highestSequence = max(highestSequence, header.sequence)
      let isWhole = try reader.isWhole(header, at: next)
      try add(header, at: next, isWhole: isWhole, &table, &report)
      place = next + header.frameByteCount
    }
    if place < limit {
      // Zeros at the end of a segment that was being written are space that was promised and not used.
      let isAboveFloor = file.number.map { LogPosition(segment: $0, offset: place) >= floor } ?? true
      let isUnused = file.trailer == nil && isAboveFloor
      let isZero = isUnused ? try reader.isZero(from: place, to: limit) : false
      if !isZero { lose(place..<limit, &report) }
    }
    let isAllCopies = file.header == nil && !sawMark
    try endTransaction(
      isCommitted: isAllCopies || happened(at: pending.first?.place ?? limit), &table, &report)
  }

  /// Whether a frame at a place happened whatever became of its commit mark.
  private func happened(at place: Int) -> Bool {
    file.isFinished || file.number.map { LogPosition(segment: $0, offset: place) < floor } ?? false
  }

  private mutating func lose(_ range: Range<Int>, _ report: inout SalvageSummary) {
    lost.append(range)
    if !isReplaced { report.add(.lostFrames, in: file, range) }
  }

  private mutating func add(
    _ header: FrameHeader, at place: Int, isWhole: Bool, _ table: inout SalvageTable,
    _ report: inout SalvageSummary
  ) throws(StorageError) {
    let mayGoOn = header.kind.isInTransaction || header.kind == .commit
    if let first = pending.first, first.header.sequence != header.sequence || !mayGoOn {
      // Another transaction begins: the mark of the one before is lost.
      try endTransaction(isCommitted: happened(at: first.place), &table, &report)
    }
    switch header.kind {
    case .record, .tombstone, .chunk, .liveChange:
      let frame = Pending(header: header, place: place, isWhole: isWhole)
      if file.isCompacted { try keep(frame, &table) } else { pending.append(frame) }
    case .commit:
      sawMark = true
      let mark = isWhole ? CommitMark(payload: try reader.payload(of: header, at: place)) : nil
      let isComplete =
        mark?.frameCount == pending.count && pending.first.map { $0.place == mark?.firstOffset } ?? false
        && pending.allSatisfy(\.isWhole)
      let start = pending.first?.place ?? place
      try endTransaction(isCommitted: isComplete || happened(at: start), &table, &report)
    case .liveSet, .close:
      sawMark = true
    case .footer:
      break
    }
  }

  /// Keeps the frames that wait, or says that they never happened for certain.
  private mutating func endTransaction(
    isCommitted: Bool, _ table: inout SalvageTable, _ report: inout SalvageSummary
  ) throws(StorageError) {
    guard let first = pending.first, let last = pending.last else { return }
    let frames = pending
    pending.removeAll(keepingCapacity: true)
    guard isCommitted else {
      if !isReplaced {
        report.add(.uncommitted, in: file, first.place..<last.place + last.header.frameByteCount)
      }
      return
    }
    for frame in frames { try keep(frame, &table) }
  }

  private mutating func keep(_ frame: Pending, _ table: inout SalvageTable) throws(StorageError) {
    let header = frame.header
    let place = SalvageTable.Place(file: index, offset: UInt32(frame.place))
    switch header.kind {
    case .record, .tombstone:
      let version = SalvageTable.Version(
        sequence: header.sequence, isTombstone: header.kind == .tombstone, place: place,
        payloadByteCount: UInt32(header.payloadByteCount))
      if frame.isWhole {
        table.add(header.id, version, isReplaced: isReplaced)
      } else if !isReplaced {
        table.know(header.id, version)
      }
    case .chunk:
      guard frame.isWhole, let mark = ChunkMark(try reader.payload(of: header, at: frame.place)) else {
        return
      }
      table.add(chunk: mark.number, isLast: mark.isLast, of: header.id, at: place)
    case .liveChange, .commit, .liveSet, .close, .footer: break
    }
  }
}
