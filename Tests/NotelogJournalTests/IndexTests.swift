// The index against a dictionary, with fingerprints that collide.

import NotelogBase
@testable import Notelog
@testable import NotelogFormat
import NotelogTestSupport
import Testing

#if os(Linux)
  import Glibc
#endif

@Suite struct IndexTests {
  /// The published vector of SipHash-2-4 for 16 bytes 00 … 0F under the key 00 … 0F (Aumasson and Bernstein,
  /// 2012).
  @Test func `the hash is SipHash`() {
    let key = FingerprintKey(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    let id = ID16(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    #expect(key.sipHash(id, compressionRounds: 2, finalizationRounds: 4) == 0x3F2A_CC7F_57C2_9BDB)
    #expect(key.fingerprint(of: id) == key.sipHash(id, compressionRounds: 1, finalizationRounds: 3))
  }

  @Test(arguments: [64, 12, 9, 1]) func `a table holds what a dictionary of lists holds`(bitCount: Int) {
    var generator = SystemRandomNumberGenerator()
    let key = FingerprintKey(
      low: generator.next(), high: generator.next(), mask: ~(UInt64.max >> UInt64(bitCount)))
    var table = EntryTable()
    var model: [UInt64: [FrameAddress]] = [:]
    for step in 0..<4000 {
      // One shard: the highest byte is the same in all of its entries, so the bits that count are below it.
      let hash = key.fingerprint(of: ID16(low: UInt64.random(in: 0..<600), high: 1)) >> 8
      let place = FrameAddress(segment: 1, offset: step * 8)
      let known = model[hash, default: []].randomElement()
      switch Int.random(in: 0..<10) {
      case 0..<5:
        table.insert(hash, place)
        model[hash, default: []].append(place)
      case 5..<7:
        guard let known else { continue }
        let isReplaced = table.replace(hash, at: known, with: place)
        #expect(isReplaced)
        model[hash]?.removeAll { $0 == known }
        model[hash]?.append(place)
      case 7..<9:
        guard let known else { continue }
        let isRemoved = table.remove(hash, at: known)
        #expect(isRemoved)
        model[hash]?.removeAll { $0 == known }
      default:
        let isRemoved = table.remove(hash, at: place)
        let isReplaced = table.replace(hash, at: place, with: place)
        #expect(!isRemoved && !isReplaced)
      }
      if step % 97 == 0 { check(table, model) }
    }
    check(table, model)
  }

  #if os(Linux)
    @Test func `the memory of a table is there before it is looked into`() {
      func faultCount() -> Int {
        var usage = rusage()
        // SAFETY: the call fills the structure.
        // 1 is RUSAGE_THREAD, which is not imported.
        unsafe getrusage(1, &usage)
        return usage.ru_minflt
      }
      let store = EntryStore(count: 100_000)
      let before = faultCount()
      let isEmpty = (0..<store.count).allSatisfy { store[$0] == .empty }
      let faults = faultCount() - before
      #expect(isEmpty)
      // It has some four hundred pages.
      #expect(faults < 20)
    }
  #endif

  private func check(_ table: borrowing EntryTable, _ model: [UInt64: [FrameAddress]]) {
    for (hash, places) in model {
      var found: Set<UInt64> = []
      while let place = table.place(hash, at: found.count) { found.insert(place.bits) }
      #expect(found == Set(places.map(\.bits)))
      for place in places {
        let isThere = table.contains(hash, at: place)
        #expect(isThere)
      }
    }
    let total = table.count
    #expect(total == model.values.reduce(0) { $0 + $1.count })
    var last: UInt64 = 0
    var count = 0
    table.forEach { entry in
      #expect(entry.fingerprint >= last)
      last = entry.fingerprint
      count += 1
    }
    #expect(count == total)
  }

  @Test func `entries that all hash to the end of the table fit in it`() {
    var table = EntryTable()
    for number in 1...1000 { table.insert(UInt64.max >> 8, FrameAddress(segment: 1, offset: number * 8)) }
    let count = table.count
    let isThere = table.contains(UInt64.max >> 8, at: FrameAddress(segment: 1, offset: 1000 * 8))
    #expect(count == 1000 && isThere)
  }

  @Test func `a place is kept in eight bytes`() {
    let place = FrameAddress(
      segment: .max, offset: FormatLimits.maximumSegmentByteCount - 8, isTombstone: true)
    #expect(place.segment == .max)
    #expect(place.offset == FormatLimits.maximumSegmentByteCount - 8)
    #expect(place.isTombstone)
    #expect(place.isValid)
    #expect(!FrameAddress.none.isValid)
  }

  /// With 9 bits of fingerprint, 600 records share 512 of them: only the ids in their frames tell them apart.
  @Test(arguments: 0..<8) func `records whose fingerprints collide are told apart by their ids`(seed: UInt64)
    throws
  {
    var generator = SeededGenerator(seed: seed)
    let store = try TemporaryStore()
    var options = JournalOptions.small
    options.fingerprintBitCount = Int(seed % 4) * 3 + 1
    var journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    var model: [ID16: [UInt8]] = [:]
    for step in 0..<1500 {
      let id = key(Int.random(in: 0..<150, using: &generator))
      switch Int.random(in: 0..<100, using: &generator) {
      case 0..<60:
        let body = (0..<Int.random(in: 0..<200, using: &generator)).map {
          UInt8(truncatingIfNeeded: $0 &+ step)
        }
        try journal.put(id, body, .buffered)
        model[id] = body
      case 60..<80:
        try journal.delete(id, .buffered)
        model[id] = nil
      case 80..<98: #expect(try journal.body(of: id) == model[id])
      case 98: _ = try journal.compact()
      default:
        try journal.close()
        journal = try Journal.open(in: store.storage, options: options)
      }
    }
    for number in 0..<150 { #expect(try journal.body(of: key(number)) == model[key(number)]) }
    #expect(try journal.records() == model.keys.sorted())
    #expect(journal.catalog.index.recordCount == model.count)
    try journal.close()
    #expect(try Journal.verify(store.storage).report.verdict == .sound)
  }

  /// Fingerprints of two bits: nearly all that the threads take in looks like something that is known
  /// already.
  @Test func `threads that share the segments know each record once, by its newest frame`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let (recordCount, roundCount) = (40, 20)
    for round in 0..<roundCount {
      for number in 0..<recordCount {
        try journal.put(key(number), [UInt8](repeating: UInt8(round), count: 100), .buffered)
      }
    }
    try journal.close()
    for _ in 0..<200 {
      var examination = try Examination(store.storage, storeID: nil)
      let catalog = Catalog(key: FingerprintKey(low: 1, high: 2, mask: 3 << 62))
      try catalog.load(&examination, threadCount: 4)
      #expect(catalog.index.recordCount == recordCount)
      for number in 0..<recordCount {
        let sequence = try catalog.location(of: key(number))?.sequence
        #expect(sequence == UInt64((roundCount - 1) * recordCount + number + 1))
      }
      #expect(
        catalog.segments.liveByteCount == recordCount
          * (Layout.frameHeaderByteCount + 104 + Layout.footerEntryByteCount))
    }
  }
}
