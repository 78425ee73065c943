// Which chunks live, and where they are: FORMAT.md §8, INV-V1.

import NotelogBase
import NotelogFormat
import Synchronization

/// The large values of an open store. A value is in it as long as it lives: while a record refers to it,
/// or a version that is kept, while it is being uploaded, and while a snapshot lives that may see a record which
/// did.
///
/// Nothing is known before somebody asks (`Journal.loadChunks`): opening a store must not read footers that
/// the checkpoint spares it. What is committed while the segments are gone through is noted, and taken in
/// after what they said.
final class ChunkTable: Sendable {
  /// What happens to values.
  private enum Event {
    case chunk(of: ID16, ChunkMark, LargeValue.Chunk)
    /// A record has a new version, or is deleted; it refers to these values.
    case record(ID16, values: [ID16])
    case moved(of: ID16, ChunkMark, from: FrameAddress, to: LargeValue.Chunk)
  }

  private struct State {
    /// What is being loaded when it is outdated is not to be believed.
    enum Knowledge { case nothing, loading, outdated, complete }

    var knowledge = Knowledge.nothing
    /// With the sequence number of their transaction; 0 for a move, which belongs to none.
    var noted: [(sequence: UInt64, event: Event)] = []
    var values: [ID16: LargeValue] = [:]
    var valuesOfRecords: [ID16: [ID16]] = [:]
    var uploads: Set<ID16> = []
    /// Values that no record refers to any more, but that a snapshot may see.
    var lingering: Set<ID16> = []
    /// Values that only versions name which are kept: they live, and do not count as live.
    var kept: Set<ID16> = []
  }

  private let state = Lock(State())
  private let segments: SegmentTable
  private let oldVersions: OldVersions
  private let keptVersions: KeptVersions
  private let watching = Atomic(false)

  init(_ segments: SegmentTable, _ oldVersions: OldVersions, _ keptVersions: KeptVersions) {
    self.segments = segments
    self.oldVersions = oldVersions
    self.keptVersions = keptVersions
  }

  // MARK: asking

  /// Whether all is known; values that only snapshots kept are let go where none lives any more.
  var isComplete: Bool {
    guard watching.load(ordering: .acquiring) else { return false }
    return state.withLock { state in
      releaseLingering(&state)
      return state.knowledge == .complete
    }
  }

  /// Where a chunk is; nothing where its value does not live or lacks it.
  func chunk(_ number: UInt32, of value: ID16) -> LargeValue.Chunk? {
    state.withLock { $0.values[value]?.chunk(number) }
  }

  /// Whether a chunk frame lives. Before anything is known, every one is taken to.
  func lives(_ mark: ChunkMark, of value: ID16, at place: FrameAddress) -> Bool {
    state.withLock { state in
      guard state.knowledge == .complete else { return true }
      return state.values[value]?.chunk(mark.number)?.place == place
    }
  }

  // MARK: uploads

  /// Keeps a value alive that no record refers to yet.
  func beginUpload(_ value: ID16) { state.withLock { state in _ = state.uploads.insert(value) } }

  /// Leaves a value to whatever record refers to it; without one it is dead.
  func endUpload(_ value: ID16) {
    state.withLock { state in
      state.uploads.remove(value)
      if state.values[value]?.owner == nil, !state.kept.contains(value) { release(value, &state) }
    }
  }

  /// Whether there are values that no record refers to yet.
  var hasUploads: Bool { state.withLock { !$0.uploads.isEmpty } }

  /// Forgets what is known: something happened that nobody can tell in order. It is found out again when it
  /// is asked for.
  func forget() { state.withLock { forget(&$0) } }

  private func forget(_ state: inout State) {
    switch state.knowledge {
    case .nothing, .outdated: return
    case .loading: state.knowledge = .outdated
    case .complete:
      for value in state.values.keys where !state.kept.contains(value) { count(value, -1, state) }
      forgetAll(&state)
    }
  }

  private func forgetAll(_ state: inout State) {
    state = State(uploads: state.uploads)
    watching.store(false, ordering: .releasing)
  }

  // MARK: what happens

  /// Takes in a transaction that becomes visible, its frames at a place of a segment. One thread at a time.
  func apply(
    _ frames: [PendingFrame], _ bytes: RawSpan, in segment: UInt32, at place: Int, sequence: UInt64
  ) {
    guard watching.load(ordering: .acquiring) else { return }
    state.withLock { state in
      releaseLingering(&state)
      for frame in frames {
        let payload = bytes.extracting(frame.payload)
        let listed = payload.extracting(first: frame.envelopeByteCount)
        switch frame.header.kind {
        case .chunk:
          guard let mark = ChunkMark(listed) else { continue }
          let chunk = LargeValue.Chunk(
            place: FrameAddress(segment: segment, offset: place + frame.start),
            payloadByteCount: frame.header.payloadByteCount)
          happen(.chunk(of: frame.header.id, mark, chunk), sequence, &state)
        case .record, .tombstone:
          let values = Envelope.values(
            listed, orIn: payload.extracting(droppingFirst: frame.envelopeByteCount))
          // Most stores have no large value, and most records none.
          let isConcerned =
            state.knowledge == .loading || !values.isEmpty || state.valuesOfRecords[frame.header.id] != nil
          if isConcerned { happen(.record(frame.header.id, values: values), sequence, &state) }
        case .liveChange, .commit, .liveSet, .close, .footer: break
        }
      }
    }
  }

  /// Takes in that compaction moved a chunk. One that died meanwhile does not move: its copy is dead already.
  func move(_ mark: ChunkMark, of value: ID16, from old: FrameAddress, to new: LargeValue.Chunk) {
    guard watching.load(ordering: .acquiring) else { return }
    state.withLock { state in happen(.moved(of: value, mark, from: old, to: new), 0, &state) }
  }

  private func happen(_ event: Event, _ sequence: UInt64, _ state: inout State) {
    switch state.knowledge {
    case .nothing, .outdated: break
    case .loading: state.noted.append((sequence, event))
    case .complete: apply(event, &state)
    }
  }

  private func apply(_ event: Event, _ state: inout State) {
    switch event {
    case .chunk(let value, let mark, let chunk):
      guard state.values[value, default: LargeValue()].insert(mark, chunk) else { return }
      segments.addChunks(chunk.liveByteCount, in: chunk.place.segment)
    case .record(let record, let values):
      // A transaction was taken back: what died lives again, wherever it is.
      guard values.allSatisfy({ state.values[$0] != nil }) else { return forget(&state) }
      let old = state.valuesOfRecords[record] ?? []
      state.valuesOfRecords[record] = values.isEmpty ? nil : values
      for value in values {
        state.values[value]?.owner = record
        if state.kept.remove(value) != nil { count(value, 1, state) }
      }
      for value in old where !values.contains(value) {
        state.values[value]?.owner = nil
        if keptVersions.seconds > 0 { keep(value, &state) } else { release(value, &state) }
      }
    case .moved(let value, let mark, let old, let new):
      guard let known = state.values[value]?.chunk(mark.number), known.place == old else { return }
      state.values[value]?.remove(mark.number)
      state.values[value]?.insert(mark, new)
      if state.kept.contains(value) { return }
      segments.addChunks(-known.liveByteCount, in: old.segment)
      segments.addChunks(new.liveByteCount, in: new.place.segment)
    }
  }

  /// Counts all bytes of a value as live, or as such no longer.
  private func count(_ value: ID16, _ sign: Int, _ state: State) {
    for extent in state.values[value]?.extents ?? [] {
      let byteCount = Int(extent.count) * extent.chunk(extent.first).liveByteCount
      segments.addChunks(sign * byteCount, in: extent.segment)
    }
  }

  /// Keeps a value that only versions name which are kept.
  private func keep(_ value: ID16, _ state: inout State) {
    if state.values[value] != nil, state.kept.insert(value).inserted { count(value, -1, state) }
  }

  /// Lets a value go that no record refers to, unless it is being uploaded or a snapshot may see it.
  private func release(_ value: ID16, _ state: inout State, besides ownSnapshotCount: Int = 0) {
    guard state.knowledge == .complete, !state.uploads.contains(value) else { return }
    if oldVersions.snapshotCount > ownSnapshotCount {
      state.lingering.insert(value)
    } else {
      count(value, -1, state)
      state.values[value] = nil
    }
  }

  private func releaseLingering(_ state: inout State) {
    guard !state.lingering.isEmpty, !oldVersions.isNeeded else { return }
    let values = state.lingering
    state.lingering = []
    for value in values where state.values[value]?.owner == nil { release(value, &state) }
  }

  // MARK: loading

  /// From here on, what happens is noted.
  func beginLoading() {
    state.withLock { $0.knowledge = .loading }
    watching.store(true, ordering: .releasing)
  }

  /// Going through the segments failed: nothing is known, as before.
  func cancelLoading() { state.withLock { forgetAll(&$0) } }

  /// Takes in what the segments say at the moment of a transaction, and what was noted since.
  func finishLoading(_ scan: consuming ChunkScan, at sequence: UInt64) {
    state.withLock { state in
      if state.knowledge == .outdated { return forgetAll(&state) }
      state.values = scan.values
      for owner in scan.owners {
        state.valuesOfRecords[owner.record] = owner.values
        for value in owner.values { state.values[value, default: LargeValue()].owner = owner.record }
      }
      for value in state.values.keys { count(value, 1, state) }
      for value in scan.kept where state.values[value]?.owner == nil { keep(value, &state) }
      state.knowledge = .complete
      for (number, event) in state.noted where number == 0 || number > sequence {
        if state.knowledge == .complete { apply(event, &state) }
      }
      state.noted = []
      // The snapshot that the segments were gone through with is one of those that live.
      for (value, content) in state.values where content.owner == nil && !state.kept.contains(value) {
        release(value, &state, besides: 1)
      }
    }
  }
}

/// What the segments say of large values.
struct ChunkScan {
  private(set) var values: [ID16: LargeValue] = [:]
  /// Records that refer to large values, and where their frames are.
  var owners: [(record: ID16, values: [ID16], place: FrameAddress)] = []
  /// Values that versions name which are kept.
  var kept: Set<ID16> = []

  /// Takes in a chunk that a footer lists.
  ///
  /// - Returns: The large values that a record's envelope names: where the record is the newest version, it
  ///   is one of the ``owners``.
  mutating func apply(_ entry: FooterEntry, _ envelope: RawSpan, in segment: UInt32) -> [ID16] {
    if let mark = entry.chunk {
      let place = FrameAddress(segment: segment, offset: entry.offset)
      values[entry.id, default: LargeValue()].insert(
        mark, LargeValue.Chunk(place: place, payloadByteCount: entry.payloadByteCount))
    }
    return entry.kind == .record ? Envelope.values(envelope) : []
  }

  /// The values that no envelope names.
  var unnamed: Set<ID16> { Set(values.keys).subtracting(kept).subtracting(owners.flatMap { $0.values }) }
}

// MARK: - Where the chunks of one large value are: FORMAT.md §8.

/// A large value's chunks, as runs of frames that follow one another: two gigabytes take a few thousand of
/// them, and a few dozen once compaction has put them together.
struct LargeValue {
  /// Chunks of one length, one behind the other in one segment.
  struct Extent: Equatable {
    let segment: UInt32
    var offset: UInt32
    var first: UInt32
    var count: UInt32
    let payloadByteCount: UInt32

    var end: UInt32 { first + count }
    var frameByteCount: Int { aligned(Layout.frameHeaderByteCount + Int(payloadByteCount)) }

    func place(of number: UInt32) -> FrameAddress {
      FrameAddress(segment: segment, offset: Int(offset) + Int(number - first) * frameByteCount)
    }

    func chunk(_ number: UInt32) -> Chunk {
      Chunk(place: place(of: number), payloadByteCount: Int(payloadByteCount))
    }
  }

  /// A chunk's place and the length of its payload.
  struct Chunk: Equatable {
    let place: FrameAddress
    let payloadByteCount: Int

    /// The bytes that count as live: the frame and its footer entry.
    var liveByteCount: Int {
      aligned(Layout.frameHeaderByteCount + payloadByteCount) + Layout.footerEntryByteCount
        + ChunkMark.byteCount
    }
  }

  /// The record that refers to it.
  var owner: ID16?
  /// The number of the chunk that says it is the last.
  private(set) var last: UInt32?
  /// In order of the chunks' numbers.
  private(set) var extents: [Extent] = []

  /// Whether no chunk is missing.
  var isComplete: Bool {
    var next: UInt32 = 0
    for extent in extents {
      guard extent.first == next else { return false }
      next = extent.end
    }
    return last.map { $0 + 1 == next } ?? false
  }

  /// Where a chunk is; nothing where there is none of this number.
  func chunk(_ number: UInt32) -> Chunk? {
    index(covering: number).map { extents[$0].chunk(number) }
  }

  /// Adds a chunk, unless one of its number is known.
  ///
  /// - Returns: Whether it was new.
  @discardableResult
  mutating func insert(_ mark: ChunkMark, _ chunk: Chunk) -> Bool {
    if mark.isLast { last = mark.number }
    let next = firstIndex(reaching: mark.number)
    if next < extents.count, extents[next].first <= mark.number { return false }
    if next > 0 {
      let before = extents[next - 1]
      if before.end == mark.number, before.chunk(mark.number) == chunk {
        extents[next - 1].count += 1
        return true
      }
    }
    extents.insert(
      Extent(
        segment: chunk.place.segment, offset: UInt32(chunk.place.offset), first: mark.number, count: 1,
        payloadByteCount: UInt32(chunk.payloadByteCount)),
      at: next)
    return true
  }

  /// Forgets where a chunk is.
  mutating func remove(_ number: UInt32) {
    guard let index = index(covering: number) else { return }
    let extent = extents[index]
    var pieces: [Extent] = []
    if number > extent.first {
      var before = extent
      before.count = number - extent.first
      pieces.append(before)
    }
    if number + 1 < extent.end {
      var after = extent
      after.first = number + 1
      after.offset = UInt32(extent.place(of: number + 1).offset)
      after.count = extent.end - after.first
      pieces.append(after)
    }
    extents.replaceSubrange(index...index, with: pieces)
  }

  private func index(covering number: UInt32) -> Int? {
    let index = firstIndex(reaching: number)
    return index < extents.count && extents[index].first <= number ? index : nil
  }

  /// The first index whose extent ends behind a number: it has that chunk, or comes behind where it would be.
  private func firstIndex(reaching number: UInt32) -> Int {
    extents.firstPlace(notBelow: number) { $0.end - 1 }
  }
}
