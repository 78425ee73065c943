// A sector that gives an error where it is read is a finding, and costs the records in it.

import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogFormat

@Suite struct UnreadableSectorTests {
  /// Calls `body` with the store of `ContainmentTests` for each sector of each of its segments.
  private func forEachSector(
    _ body: (ContainmentTests.Sample, _ name: String, _ sector: Range<Int>, _ isLast: Bool) throws -> Void
  ) throws {
    let sample = try ContainmentTests.Sample()
    let names = sample.disk.fileNames.filter { FileName.segmentNumber($0) != nil }.sorted()
    for name in names {
      let byteCount = try #require(sample.disk.contents(name)).count
      for start in stride(from: 0, to: byteCount, by: 4096) {
        try body(sample, name, start..<min(start + 4096, byteCount), name == names.last)
      }
    }
  }

  /// The bug: one sector that could not be read ended `verify`, with the system's error and nothing else.
  @Test func `verify names a sector that can't be read and goes on behind it`() throws {
    try forEachSector { sample, name, sector, _ in
      let storage = UnreadableStorage(sample.disk.copy(), name, sector)
      let sound = try Store.verify(in: sample.disk.copy(), unlocking: TemporaryFolder.key)
      let found = try Store.verify(in: storage, unlocking: TemporaryFolder.key)
      #expect(found.verdict.isDamaged, "\(name), \(sector)")
      let number = FileName.segmentNumber(name).map(Int.init)
      let named = found.findings.filter {
        $0.message.hasSuffix("bytes can't be read") && $0.segment == number
      }
      #expect(named.map(\.offset) == [sector.lowerBound], "\(name), \(sector)")
      let touched = sample.touched(in: name, sector).count
      #expect(found.recordCount >= sound.recordCount - touched - 2, "\(name), \(sector)")
    }
  }

  @Test func `opening for reading serves every record that is not in a sector that can't be read`() throws {
    try forEachSector { sample, name, sector, _ in
      let storage = UnreadableStorage(sample.disk.copy(), name, sector)
      var options = ContainmentTests.Sample.options
      options.isReadOnly = true
      options.acceptsUnprovenDamage = true
      let store = try Store.open(in: storage, unlocking: TemporaryFolder.key, options: options)
      let missing = sample.missing(in: store, but: sample.touched(in: name, sector))
      #expect(missing.isEmpty, "\(name), \(sector)")
      for id in sample.notes.keys where sample.touched(in: name, sector).contains(id) {
        #expect(throws: NotelogError.self, "\(name), \(sector)") { try store.get(Note.self, id) }
      }
      try store.close()
    }
  }

  /// What can't be read must not be cut: it may be readable tomorrow, or by another tool.
  @Test func `whoever writes beside a sector that can't be read loses nothing in it`() throws {
    var refusalCount = 0
    try forEachSector { sample, name, sector, isLast in
      let disk = sample.disk.copy()
      let storage = UnreadableStorage(disk, name, sector)
      do {
        let store = try Store.open(
          in: storage, unlocking: TemporaryFolder.key, options: ContainmentTests.Sample.options)
        _ = try? store.write { tx in try tx.put(Note(title: "more", body: "more")) }
        try? store.close()
      } catch {
        refusalCount += 1
        #expect(isLast || sector.lowerBound > 0, "\(name), \(sector): \(error)")
      }
      #expect(sample.missing(on: disk, isReadOnly: true, but: []) == [], "\(name), \(sector)")
    }
    #expect(refusalCount > 0)
  }
}
