// Folders of segments: recovery, verification, salvage and everything that reads or goes on behind them.
// FORMAT.md 4 to 6, 12, 24.

@testable import NotelogBase
@testable import NotelogStorage
@testable import Notelog
@testable import NotelogFormat

/// Opens, verifies and salvages a store of segments that fit their checksums, and each other, as far as the
/// input wants.
enum JournalTarget: FuzzTarget {
  private static let segmentCountMax = 8

  static func seeds() throws -> [[UInt8]] {
    let programs = try takeApart(SampleStore.files)
    var seeds: [[UInt8]] = []
    // The whole store, and the store as it was when its last segments were not there yet.
    for count in 1...programs.count {
      var seed: [UInt8] = []
      for program in programs.prefix(count) { program.append(to: &seed) }
      seeds.append(seed)
    }
    // The same with next to nothing in the records: what is changed then is more often what says how they
    // hang together.
    var trimmed: [UInt8] = []
    for program in programs { program.trimmed.append(to: &trimmed) }
    seeds.append(trimmed)
    seeds.append(withOddFooters(programs))
    seeds.append(try recovered(trimmed))
    let whole = try Journal.open(
      in: MemoryStorage(files(trimmed)), options: SampleStore.options)
    expect(whole.report.verdict == .sound, "the sample put together again is not clean: \(whole.report)")
    return seeds
  }

  /// The segments among a store's files, taken apart; what compaction made comes first, as the log says what
  /// became of it.
  private static func takeApart(_ files: [String: [UInt8]]) throws -> [SegmentProgram] {
    let segments = files.filter { FileName.segmentNumber($0.key) != nil }
    return try segments.map { try SegmentProgram(takingApart: $0.value) }.sorted {
      ($0.kind == SegmentKind.compacted.rawValue ? 0 : $0.number, $0.number)
        < ($1.kind == SegmentKind.compacted.rawValue ? 0 : $1.number, $1.number)
    }
  }

  /// The store after a crash, and a recovery from it.
  private static func recovered(_ seed: [UInt8]) throws -> [UInt8] {
    var files = Self.files(seed)
    // What has no trailer is the head: its end is torn.
    for (name, file) in files where file[file.count - 8] != UInt8(truncatingIfNeeded: Trailer.magic) {
      files[name]?.removeLast(24)
    }
    let disk = MemoryStorage(files)
    try StoreUse.goOn(in: disk)
    var recovered: [UInt8] = []
    for program in try takeApart(disk.contents) { program.append(to: &recovered) }
    return recovered
  }

  /// Segments whose footers list their first frame a byte further on.
  private static func withOddFooters(_ programs: [SegmentProgram]) -> [UInt8] {
    var seed: [UInt8] = []
    for var program in programs.map(\.trimmed) {
      for index in program.frames.indices where program.frames[index].kind == FrameKind.footer.rawValue {
        let offset = UInt8(truncatingIfNeeded: Layout.footerPrefixByteCount + 4)
        program.frames[index].payload = [0, offset, UInt8(Layout.footerPrefixByteCount >> 8), 1]
      }
      program.append(to: &seed)
    }
    return seed
  }

  private static func files(_ input: [UInt8]) -> [String: [UInt8]] {
    var reader = InputReader(input)
    var assembler = SegmentAssembler()
    var count = 0
    while !reader.isAtEnd, count < segmentCountMax {
      assembler.add(SegmentProgram(&reader))
      count += 1
    }
    return assembler.files
  }

  static func run(_ input: [UInt8]) throws {
    let files = Self.files(input)
    try? Store.forEachPiece(in: MemoryStorage(files)) { _ in }
    _ = try? Journal.verify(MemoryStorage(files))
    salvage(files)
    if let journal = try? StoreUse.open(MemoryStorage(files), isReadOnly: true) { StoreUse.readAll(journal) }
    try StoreUse.goOn(in: MemoryStorage(files))
  }

  private static func salvage(_ files: [String: [UInt8]]) {
    let target = MemoryStorage([:])
    guard
      (try? Journal.salvage(
        from: MemoryStorage(files), to: target, keepsPossiblyStale: true, options: SampleStore.options))
        != nil
    else { return }
    // What salvage makes is a sound store, whatever it was made of.
    do {
      let journal = try StoreUse.open(target)
      expect(journal.report.damages.isEmpty, "what was salvaged is damaged: \(journal.report.damages)")
      try journal.close()
    } catch { fatalError("what was salvaged does not open: \(error)") }
  }
}
