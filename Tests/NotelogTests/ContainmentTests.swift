// The loss of any one file, or of any 4 KiB of a file, costs at most the records in it.

@testable import Notelog
@testable import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct ContainmentTests {
  /// What is done to a file.
  private enum Harm: CaseIterable {
    case missing, empty, half, pageZeroed, sectorZeroed

    /// The ranges of a file that is so long, each lost alone; nil where the file goes.
    func ranges(of byteCount: Int) -> [Range<Int>?] {
      switch self {
      case .missing: [nil]
      case .empty: [0..<byteCount]
      case .half: [byteCount / 2..<byteCount]
      case .pageZeroed: Self.blocks(of: byteCount, 4096)
      case .sectorZeroed: Self.blocks(of: byteCount, 512)
      }
    }

    private static func blocks(of byteCount: Int, _ length: Int) -> [Range<Int>?] {
      stride(from: 0, to: byteCount, by: length).map { $0..<min($0 + length, byteCount) }
    }

    func apply(to bytes: [UInt8], _ range: Range<Int>?) -> [UInt8]? {
      guard let range else { return nil }
      if self == .empty || self == .half { return Array(bytes[..<range.lowerBound]) }
      var bytes = bytes
      for index in range { bytes[index] = 0 }
      return bytes
    }
  }

  /// A store closed in order, with several segments, a compacted one among them, two collections, records
  /// that were updated and deleted, a large value and a checkpoint.
  struct Sample {
    let disk = SimulatedDisk()
    private(set) var notes: [RecordID: String] = [:]
    private(set) var letters: [RecordID: [UInt8]] = [:]
    /// The newest frame of each record, and the chunks of its values.
    private var frames: [(id: RecordID, file: String, range: Range<Int>)] = []

    static var options: Store.Options {
      var options = Store.Options()
      options.segmentByteCount = 16 << 10
      return options
    }

    init() throws {
      var written = (0..<100).map { number in
        Note(title: "title \(number)", body: noise(200, seed: UInt64(number)).map(String.init).joined())
      }
      let letter = Letter(subject: "subject", scan: noise(70_000), text: "text")
      var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.options)
      for note in written[..<60] { try store.write { tx in try tx.put(note) } }
      for note in written[..<10] { try store.write { tx in _ = try tx.delete(Note.self, note.id) } }
      _ = try store.compact()
      try store.write { tx in try tx.put(letter) }
      for index in 20..<30 {
        written[index].title = "newer \(index)"
        try store.write { tx in try tx.put(written[index]) }
      }
      try store.journal.checkpoint()
      try store.close()
      store = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Self.options)
      for note in written[60...] { try store.write { tx in try tx.put(note) } }
      for note in written[10...] { notes[note.id] = note.title }
      letters[letter.id] = letter.scan
      for id in [letter.id] + notes.keys {
        let place = try #require(try store.journal.catalog.location(of: id.bytes))
        let start = Int(place.offset)
        frames.append((id, FileName.segment(place.segment), start..<start + place.frameByteCount))
      }
      try store.close()
      try Store.forEachPiece(in: disk) { piece in
        guard piece.kind == .chunk else { return }
        frames.append((letter.id, piece.file, piece.offset..<piece.offset + piece.byteCount))
      }
      try #require(disk.fileNames.filter { $0.hasSuffix(".journal") }.count > 3)
      try #require(frames.contains { $0.range.count > 60_000 })
    }

    func touched(in file: String, _ range: Range<Int>?) -> Set<RecordID> {
      Set(frames.filter { $0.file == file && range?.overlaps($0.range) ?? true }.map(\.id))
    }

    /// The records, of those that are expected, that a store does not serve as they were.
    func missing(in store: Store, but touched: Set<RecordID>) -> [RecordID] {
      var missing: [RecordID] = []
      for (id, title) in notes where !touched.contains(id) {
        if (try? store.get(Note.self, id)?.title) != title { missing.append(id) }
      }
      for (id, scan) in letters where !touched.contains(id) {
        if (try? store.get(Letter.self, id)?.scan) != scan { missing.append(id) }
      }
      return missing
    }

    /// The same for a disk: what opening it does not serve; nil where it does not open.
    func missing(on disk: SimulatedDisk, isReadOnly: Bool, but touched: Set<RecordID>) -> [RecordID]? {
      var options = Self.options
      options.isReadOnly = isReadOnly
      guard let store = try? Store.open(in: disk, unlocking: TemporaryFolder.key, options: options) else {
        return nil
      }
      defer { try? store.close() }
      return missing(in: store, but: touched)
    }
  }

  /// The bug: schemas stood in the log alone. One block of the segment that held one's frame, and no record
  /// of its collection could be shown again, not even of those that salvage had saved.
  @Test func `what one file or one block of it takes away is no more than the records in it`() throws {
    let sample = try Sample()
    var tried = 0
    var opened = 0
    for name in sample.disk.fileNames {
      let bytes = try #require(sample.disk.contents(name))
      for harm in Harm.allCases {
        for range in TestEffort.sample(harm.ranges(of: bytes.count), 6) {
          let damaged = harm.apply(to: bytes, range)
          if damaged == bytes { continue }
          let touched = sample.touched(in: name, range)
          let place = "\(name), \(harm) \(range.map { "\($0)" } ?? "")"
          tried += 1
          let disk = sample.disk.copy()
          disk.replace(name, with: damaged)
          let saved = SimulatedDisk()
          do { _ = try Store.salvage(from: disk.copy(), to: saved) } catch {
            Issue.record("\(place): salvage: \(error)")
            continue
          }
          let missing = sample.missing(on: saved, isReadOnly: true, but: touched)
          #expect(missing == [], "\(place): \(missing.map { "\($0.count) not saved" } ?? "does not open")")
          for isReadOnly in [true, false] {
            // Where nobody can name what is lost, opening may refuse, and salvage is the way; what is served
            // is right.
            guard let missing = sample.missing(on: disk.copy(), isReadOnly: isReadOnly, but: touched) else {
              continue
            }
            opened += 1
            #expect(missing == [], "\(place): \(missing.count) not served")
          }
        }
      }
    }
    #expect(tried > (TestEffort.isSoak ? 300 : 80) && opened > tried)
  }
}
