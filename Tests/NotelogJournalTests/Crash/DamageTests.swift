// Damage of every kind to a cleanly closed store: it is noticed, contained, and nothing old is served as
// current.

@testable import NotelogBase
@testable import Notelog
import NotelogFormat
import NotelogTestSupport
import Testing

@Suite struct `Damage to a closed store` {
  /// A cleanly closed store of about 64 KiB that holds every kind of frame and segment, and what it is to
  /// serve.
  struct Sample: Sendable {
    let disk: SimulatedDisk
    let state: History.State
    /// Records that were deleted.
    let deleted: Set<ID16>
    let map: FrameMap
    /// The frames of the chunks that the newest version of a record refers to.
    let chunks: [ID16: [MappedFrame]]
    /// An older copy of the same store.
    let older: SimulatedDisk
    /// What the store's file `index` may hold.
    let checkpoint: [UInt8]
    /// The same store as a process leaves it that was killed before it could close it.
    let unclosed: SimulatedDisk

    init(seed: UInt64 = 7, storeID: ID16 = ScriptedStore.storeID) throws {
      let disk = SimulatedDisk()
      var random = SeededGenerator(seed: seed)
      var journal = try ScriptedStore.create(on: disk, seed: seed, storeID: storeID)
      func write(_ range: Range<Int>, every step: Int = 1) throws {
        for number in stride(from: range.lowerBound, to: range.upperBound, by: step) {
          try journal.put(key(number), random.bytes(count: random.pick(20..<500)), .durable)
        }
      }
      try write(0..<60)
      for number in 0..<20 { try journal.delete(key(number), .durable) }
      _ = try journal.compact()
      try write(20..<50)
      try journal.close()
      older = disk.copy()
      journal = try ScriptedStore.open(disk, seed: seed, storeID: storeID)
      try write(30..<60, every: 2)
      for number in 50..<54 { try journal.delete(key(number), .flushed) }
      // A process that dies here leaves work for recovery: a recovered segment and cut sources.
      let killed = disk.crashImageNow(.processKilled)
      journal = try ScriptedStore.open(killed, seed: seed, storeID: storeID)
      var batch = Batch()
      for number in 60..<70 {
        let chunkCount = number % 3 + 1
        for chunk in 0..<chunkCount {
          batch.putChunk(
            ChunkMark(UInt32(chunk), isLast: chunk == chunkCount - 1), of: key(1000 + number),
            sealedByteCount: 100
          ) { $0.store(UInt64(number * 100 + chunk), at: 0) }
        }
        let envelope = WrittenEnvelope(
          values: [key(1000 + number)],
          sortKeys: [.init(field: 1, bytes: [UInt8(number)]), .init(field: 4, bytes: [1, 2, 3])])
        batch.put(key(number), collection: 3, envelope: envelope, bodyByteCount: 8) {
          $0.store(UInt64(number), at: 0)
        }
      }
      batch.delete(key(54), collection: 1)
      try journal.commit(&batch, .durable)
      for number in 40..<46 { try journal.put(key(number), random.bytes(count: 100), .durable) }
      state = try ScriptedStore.state(of: journal)
      unclosed = killed.crashImageNow(.processKilled)
      try journal.close()
      // Closed, it is all on the medium. Without the files that have gone it is cheaper to copy, half a
      // million times.
      self.disk = killed.crashImageNow(.allKept)
      let map = FrameMap(self.disk)
      self.map = map
      chunks = map.versions().compactMapValues { versions in versions.first.map { map.chunks(of: $0) } }
      deleted = Set(map.versions().keys).subtracting(state.keys)
      let checkpointed = self.disk.copy()
      journal = try ScriptedStore.open(checkpointed, seed: seed, storeID: storeID)
      try journal.checkpoint()
      try journal.close()
      checkpoint = checkpointed.contents("index") ?? []
    }

    var segments: [String] { disk.fileNames.filter { $0.hasSuffix(".journal") } }
  }

  struct Violation: Error, CustomStringConvertible { let description: String }

  /// What opening a damaged store served, and whether anything said that something is wrong.
  struct Served {
    var isNoticed = false
    var bodies: [ID16: History.Version] = [:]
    var stale: Set<ID16> = []
    var failed: Set<ID16> = []
  }

  /// How a damaged store is opened.
  enum Way {
    /// By who may not write, without a checkpoint.
    case reading
    /// The same with a checkpoint.
    case following
    /// By who may, with a checkpoint, and who takes the clean open where it can.
    case writing
    /// By who may, without a checkpoint, and whose recovery is still to be done.
    case recovering

    static let ofClosed: [Way] = [.reading, .writing]

    /// Both in a soak run, otherwise one of the two.
    static func turn(_ number: Int) -> [Way] {
      TestEffort.isSoak ? ofClosed : [number.isMultiple(of: 2) ? .reading : .writing]
    }
  }

  static func serve(
    _ disk: SimulatedDisk, _ sample: Sample, _ way: Way, records: [ID16]
  ) throws -> Served {
    var served = Served()
    var options = ScriptedStore.options(seed: 1)
    options.isReadOnly = way == .reading || way == .following
    disk.replace("index", with: way == .writing || way == .following ? sample.checkpoint : nil)
    // Of the size that a store of an app has, making its memory and giving it back took a third of the time.
    options.cacheByteCount = 1 << 20
    let journal: Journal
    do { journal = try Journal.open(in: disk, storeID: ScriptedStore.storeID, options: options) } catch {
      served.isNoticed = true
      served.failed = Set(records)
      return served
    }
    served.isNoticed = journal.report.verdict != .sound || !journal.report.strays.isEmpty
    var buffer = ReadBuffer()
    for id in Set(try journal.records()).union(records) {
      do {
        guard let record = try journal.records.read(id, into: &buffer) else { continue }
        let values = Envelope.values(buffer.envelope)
        var body = buffer.body.copiedBytes()
        for value in values { body += try ScriptedStore.content(of: value, in: journal, &buffer) }
        served.bodies[id] = History.Version(revision: record.revision, body: body)
        if record.isPossiblyStale { served.stale.insert(id) }
      } catch {
        served.failed.insert(id)
        served.isNoticed = true
      }
    }
    if !served.isNoticed {
      let report = try Journal.verify(disk, storeID: ScriptedStore.storeID).report
      served.isNoticed = report.verdict != .sound || !report.strays.isEmpty
    }
    return served
  }

  /// Checks what a store with damaged bytes serves, given which frames are untouched.
  static func check(
    _ disk: SimulatedDisk, _ sample: Sample, _ ways: [Way] = Way.ofClosed,
    versions: [ID16: [MappedFrame]], what: String, isSound: (MappedFrame) -> Bool
  ) throws {
    for way in ways {
      try check(
        serve(disk, sample, way, records: Array(versions.keys)), sample, versions: versions,
        what: "\(what), \(way)", isSound: isSound)
    }
  }

  static func check(
    _ served: Served, _ sample: Sample, versions: [ID16: [MappedFrame]], what: String,
    isSound: (MappedFrame) -> Bool
  ) throws {
    if !served.isNoticed { throw Violation(description: "\(what): not noticed") }
    for (id, frames) in versions {
      guard let newest = frames.first else { continue }
      let found = served.bodies[id]
      let chunks = sample.chunks[id] ?? []
      if isSound(newest), !chunks.allSatisfy(isSound) {
        // Its large value may be lost, and then nothing else takes its place.
        if let found, found != sample.state[id], !isCut(found, sample.state[id]) {
          throw Violation(description: "\(what): record \(id.low) has another large value")
        }
      } else if isSound(newest) {
        // What is untouched is served as it was; a deletion holds.
        if found != sample.state[id] {
          throw Violation(
            description:
              "\(what): record \(id.low), untouched, is \(found.map { "revision \($0.revision)" } ?? "not served")"
          )
        }
      } else if let found, found != sample.state[id], !served.stale.contains(id) {
        throw Violation(description: "\(what): an older version of record \(id.low) is served as current")
      }
    }
    for id in served.bodies.keys where versions[id] == nil {
      throw Violation(description: "\(what): record \(id.low) is made up")
    }
  }

  /// Whether a version is another without the end of its large value: chunks that are lost are not made up.
  private static func isCut(_ found: History.Version, _ whole: History.Version?) -> Bool {
    guard let whole, found.revision == whole.revision else { return false }
    return whole.body.starts(with: found.body)
  }

  @Test func `the sample holds every kind of frame and segment`() throws {
    let sample = try Sample()
    #expect(Set(sample.map.frames.map(\.kind)).isSuperset(of: 1...8))
    let kinds = Set(sample.segments.compactMap { sample.disk.contents($0)?[10] })
    #expect(kinds == [1, 2, 3])
    let byteCount = sample.segments.reduce(0) { $0 + (sample.disk.contents($1)?.count ?? 0) }
    #expect(byteCount > 40_000 && byteCount < 100_000)
    #expect(sample.deleted.count >= 5)
    for way in Way.ofClosed {
      let served = try Self.serve(sample.disk.copy(), sample, way, records: [])
      #expect(!served.isNoticed)
      #expect(served.bodies == sample.state)
    }
    print("sample: \(byteCount) bytes in \(sample.segments.count) segments")
  }

  /// Tries one damage after another, two at a time, and collects what was wrong.
  func failures<Case: Sendable>(
    of cases: [Case], _ body: @escaping @Sendable (Case) throws -> Void
  ) throws -> [String] {
    let pieces = stride(from: 0, to: cases.count, by: 1_024).map { cases[$0..<min(cases.count, $0 + 1_024)] }
    return try Threads.map(pieces) { piece in
      piece.compactMap { one in
        do {
          try body(one)
          return nil
        } catch { return "\(error)" }
      }
    }.flatMap(\.self)
  }

  func expectNone(_ failures: [String]) {
    #expect(failures.isEmpty, "\(failures.count):\n\(failures.prefix(20).joined(separator: "\n"))")
  }

  @Test func `every flipped bit is noticed and costs nothing but its own frame`() throws {
    let sample = try Sample()
    let versions = sample.map.versions()
    let bits = sample.segments.flatMap { name in
      (0..<8 * (sample.disk.contents(name)?.count ?? 0)).map { (name, $0 / 8, $0 % 8) }
    }
    expectNone(
      try failures(of: TestEffort.sample(bits, 10_000)) { name, offset, bit in
        guard var bytes = sample.disk.contents(name) else { return }
        let disk = sample.disk.copy()
        bytes[offset] ^= 1 << UInt8(bit)
        disk.replace(name, with: bytes)
        try Self.check(
          disk, sample, Way.turn(offset + bit), versions: versions, what: "\(name) at \(offset), bit \(bit)"
        ) {
          $0.segment != name || !$0.range.contains(offset)
        }
      })
  }

  @Test func `a finished segment cut at any byte is noticed, and what is left is served`() throws {
    let sample = try Sample()
    let versions = sample.map.versions()
    let places = sample.segments.dropLast().flatMap { name in
      (sample.disk.contents(name) ?? []).indices.map { (name, $0) }
    }
    expectNone(
      try failures(of: TestEffort.sample(places, 3_000)) { name, length in
        let disk = sample.disk.copy()
        disk.replace(name, with: sample.disk.contents(name).map { Array($0[..<length]) })
        try Self.check(
          disk, sample, Way.turn(length), versions: versions, what: "\(name) cut at \(length)"
        ) {
          $0.segment != name || $0.range.upperBound <= length
        }
      })
  }

  /// A head without its end looks like one that was not closed. Where `lock` says where the store was closed,
  /// it is damaged.
  @Test func `the head of a closed store cut at any byte is noticed, and nothing else is written`() throws {
    let sample = try Sample()
    let head = try #require(sample.segments.last)
    let bytes = try #require(sample.disk.contents(head))
    let mark = bytes.count - 56
    let versions = sample.map.versions()
    expectNone(
      try failures(of: TestEffort.sample(0..<mark, 1_000)) { length in
        let disk = sample.disk.copy()
        disk.replace(head, with: Array(bytes[..<length]))
        var options = ScriptedStore.options(seed: 1)
        options.acceptsUnprovenDamage = false
        let names = disk.fileNames
        for isReadOnly in [true, false] {
          options.isReadOnly = isReadOnly
          do {
            _ = try Journal.open(in: disk, options: options)
            throw Violation(description: "head cut at \(length): opened")
          } catch let error as NotelogError where error.code == .damaged {
            if error.damage?.verdict != .unproven { throw Violation(description: "\(length): \(error)") }
          }
        }
        if disk.fileNames != names { throw Violation(description: "head cut at \(length): written to") }
        try Self.check(disk, sample, versions: versions, what: "head cut at \(length)") {
          $0.segment != head || $0.range.upperBound <= length
        }
      })
  }

  /// Without its end, the head is one that was not closed: whole transactions are served, and nothing is
  /// called damage, as no witness says that there was more.
  @Test
  func `the head cut at any byte serves the transactions that are whole, where nothing says there was more`()
    throws
  {
    let sample = try Sample()
    sample.disk.replace("lock", with: [])
    sample.disk.replace("index", with: nil)
    let head = try #require(sample.segments.last)
    let bytes = try #require(sample.disk.contents(head))
    let frames = sample.map.frames.filter { $0.segment == head }
    let marks = frames.filter { $0.kind == MappedFrame.commit }
    // Up to the end of its live set, the head is one in which nothing was ever written.
    let start = try #require(frames.first).range.upperBound
    let versions = sample.map.versions()
    expectNone(
      try failures(of: TestEffort.sample(0..<bytes.count, 1_500)) { length in
        let disk = sample.disk.copy()
        disk.replace(head, with: Array(bytes[..<length]))
        let report = try Journal.verify(disk, storeID: ScriptedStore.storeID).report
        if !report.damages.isEmpty {
          throw Violation(description: "head cut at \(length): \(report.damages)")
        }
        let journal = try ScriptedStore.open(disk, seed: 1)
        if length > start, journal.report.wasClosed {
          throw Violation(description: "head cut at \(length): taken for closed")
        }
        let last = marks.last { $0.range.upperBound <= length }?.sequence ?? 0
        let found = try ScriptedStore.state(of: journal)
        for (id, frames) in versions {
          let expected = frames.first { $0.segment != head || $0.sequence <= last }
          let revision = expected?.kind == MappedFrame.record ? expected?.sequence : nil
          if found[id]?.revision != revision {
            throw Violation(description: "head cut at \(length): record \(id.low) is another")
          }
        }
      })
  }

  @Test(arguments: [512, 4_096])
  func `zeroed blocks are noticed and cost nothing but their frames`(blockByteCount: Int) throws {
    let sample = try Sample()
    let versions = sample.map.versions()
    let blocks = sample.segments.flatMap { name in
      stride(from: 0, to: sample.disk.contents(name)?.count ?? 0, by: blockByteCount).map { (name, $0) }
    }
    expectNone(
      try failures(of: blocks) { name, start in
        guard var bytes = sample.disk.contents(name) else { return }
        let block = start..<min(bytes.count, start + blockByteCount)
        if bytes[block].allSatisfy({ $0 == 0 }) { return }
        bytes.replaceSubrange(block, with: repeatElement(0, count: block.count))
        let disk = sample.disk.copy()
        disk.replace(name, with: bytes)
        // The head's own tail may go without a trace: no witness speaks of it. What is served is checked
        // above.
        if name == sample.segments.last, block.upperBound > 4_608 {
          _ = try? ScriptedStore.open(disk, seed: 1)
          return
        }
        try Self.check(disk, sample, versions: versions, what: "\(name) zeroed at \(start)") {
          $0.segment != name || !$0.range.overlaps(block)
        }
      })
  }

  @Test func `segments that are gone, doubled, swapped or not this store's are noticed`() throws {
    let sample = try Sample()
    let versions = sample.map.versions()
    let other = try Sample(seed: 8, storeID: key(8))
    let divergent = try Sample(seed: 9)
    let finished = Array(sample.segments.dropLast())
    func check(_ what: String, touched: Set<String>, _ damage: (SimulatedDisk) -> Void) {
      let disk = sample.disk.copy()
      damage(disk)
      #expect(throws: Never.self, "\(what)") {
        try Self.check(disk, sample, versions: versions, what: what) { !touched.contains($0.segment) }
      }
    }
    for name in sample.segments {
      let bytes = sample.disk.contents(name)
      if name != sample.segments.last {
        check("\(name) gone", touched: [name]) { $0.replace(name, with: nil) }
        check("\(name) empty", touched: [name]) { $0.replace(name, with: []) }
      }
      check("\(name) doubled", touched: []) { $0.replace("000000000099.journal", with: bytes) }
      // That there is a head nobody else says: without it, the store is what the others make it.
      if name != sample.segments.last {
        check("\(name) from another store", touched: [name]) {
          $0.replace(name, with: other.disk.contents(name) ?? [1])
        }
        check("\(name) from a store that was restored and went another way", touched: [name]) {
          $0.replace(name, with: divergent.disk.contents(name) ?? [1])
        }
      }
      if let old = sample.older.contents(name), old != bytes {
        check("\(name) from an older copy", touched: [name]) { $0.replace(name, with: old) }
      }
      for second in finished where second > name {
        check("\(name) and \(second) swapped", touched: [name, second]) {
          $0.replace(name, with: sample.disk.contents(second))
          $0.replace(second, with: bytes)
        }
        check("\(name) in the place of \(second)", touched: [second]) { $0.replace(second, with: bytes) }
      }
    }
    // An older head in the place of what recovery made of it.
    let replaced = sample.segments.filter { sample.older.contents($0) != nil }
    #expect(replaced.contains { sample.older.contents($0) != sample.disk.contents($0) })
  }
}
