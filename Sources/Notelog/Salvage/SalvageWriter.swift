// Writes what was salvaged into a new store: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Copies frames into compacted segments, and ends them with a segment of the log that makes them a store.
struct SalvageWriter {
  private let target: any Storage
  private let storeID: ID16
  /// What is saved begins a history of its own.
  private let branch: Branch
  private let options: JournalOptions
  private let pile: SalvagePile
  private let aim: Int
  private var number: UInt32 = 1
  private var live = LiveSet()
  /// The large values that saved records refer to, by a record of each.
  private var values: [ID16: ID16] = [:]

  init(to target: any Storage, storeID: ID16, options: JournalOptions, pile: SalvagePile) {
    self.target = target
    self.storeID = storeID
    branch = options.newBranch(keepsTimes: options.keepsCommitTimes)
    self.options = options
    self.pile = pile
    aim = options.segmentByteCount ?? SegmentSize.largest
  }

  mutating func write(
    _ survivors: [SalvageTable.Place], _ table: SalvageTable, nextSequence: UInt64,
    _ report: inout SalvageSummary, _ progress: inout WorkProgress
  ) throws(NotelogError) {
    try copy(survivors, &report, &progress)
    let chunks = table.chunks.filter { values[$0.key.value] != nil }.map(\.value).sorted()
    noteMissingChunks(table, &report)
    try copy(chunks, &report, &progress)
    try fromStorage(writeLogSegment(firstSequence: nextSequence))
  }

  /// Copies frames, each checked once more, into as many segments as they take.
  private mutating func copy(
    _ places: [SalvageTable.Place], _ report: inout SalvageSummary, _ progress: inout WorkProgress
  ) throws(NotelogError) {
    var next = 0
    while next < places.count {
      let byteCountBefore = report.byteCount
      next = try fromStorage(copySegment(places, from: next, &report))
      try progress.advance(by: report.byteCount - byteCountBefore)
    }
  }

  /// Fills one segment.
  ///
  /// - Returns: The index of the first place that is not in it.
  private mutating func copySegment(
    _ places: [SalvageTable.Place], from first: Int, _ report: inout SalvageSummary
  ) throws(StorageError) -> Int {
    let salt = options.random()
    var builder = try SegmentBuilder.create(in: target, number: number, salt: salt)
    var next = first
    do throws(StorageError) {
      while next < places.count, builder.end < aim {
        let index = Int(places[next].file)
        var reader = pile.files[index].reader()
        while next < places.count, Int(places[next].file) == index, builder.end < aim {
          try copy(places[next], from: pile.files[index], &reader, to: &builder, &report)
          next += 1
        }
      }
    } catch {
      builder.abandon()
      throw error
    }
    let header = SegmentHeader(
      .compacted, number: number, storeID: storeID, branch: branch, salt: salt, firstSequence: 0,
      floor: .zero, live: LiveSet())
    live.insert(try builder.publish { _ in header })
    number += 1
    return next
  }

  private mutating func copy(
    _ place: SalvageTable.Place, from file: SalvageFile, _ reader: inout SegmentReader,
    to builder: inout SegmentBuilder, _ report: inout SalvageSummary
  ) throws(StorageError) {
    let offset = Int(place.offset)
    guard case .frame(let header) = try reader.frame(at: offset), try reader.isWhole(header, at: offset)
    else {
      // It was sound a moment ago: the medium is failing under us.
      report.add(.unreadableBytes, in: file, offset..<offset + Layout.frameHeaderByteCount)
      return
    }
    let payload = try reader.payload(of: header, at: offset)
    if header.kind == .record {
      for value in Envelope.values(inPayload: payload, of: header) { values[value] = header.id }
    }
    try builder.append(header, payload)
    if header.kind == .record { report.recordCount += 1 } else { report.chunkCount += 1 }
    report.byteCount += header.frameByteCount
  }

  /// A value is whole if its chunks run from 0 to the one that says it is the last.
  private func noteMissingChunks(_ table: SalvageTable, _ report: inout SalvageSummary) {
    for (value, record) in values.sorted(by: { $0.key < $1.key }) {
      let last = table.lastChunks[value]
      let isWhole = last.map { last in
        (0...last).allSatisfy { table.chunks[SalvageTable.ChunkKey(value: value, number: $0)] != nil }
      }
      if isWhole != true { report.add(.largeValue, in: nil, record: record) }
    }
  }

  /// The segment that appending will go on in. It is what makes the segments before it a store, so it comes last.
  private func writeLogSegment(firstSequence: UInt64) throws(StorageError) {
    let header = SegmentHeader(
      .log, number: number, storeID: storeID, branch: branch, salt: options.random(),
      firstSequence: firstSequence,
      floor: LogPosition(segment: number, offset: Layout.firstFrameOffset), live: live)
    let start = header.start(live: live)
    try target.replaceWhole(FileName.segment(number), with: start.bytes.array())
  }
}
