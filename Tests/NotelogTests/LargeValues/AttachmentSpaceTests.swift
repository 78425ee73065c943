// The space contract with values that live in chunks: FORMAT.md §24, "Space".

@testable import NotelogBase
import NotelogStorage
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `Space model of attachments` {
  static let byteCount = 10 << 20
  static let letterCount = 4

  /// INV-C4, as for records, with attachments of 10 MiB that are replaced at random.
  @Test(arguments: [false, true])
  func `the space contract holds while attachments are replaced`(isStreamed: Bool) throws {
    let folder = try TemporaryFolder()
    let base = SystemStorage(path: folder.path)
    try base.makeStoreFolder()
    let storage = MeteredStorage(base)
    var options = Store.Options()
    options.compaction = .automatic
    let store = try Store.create(in: storage, unlocking: TemporaryFolder.key, options: options)
    storage.watch(store.journal)
    let letters = (0..<Self.letterCount).map { _ in Letter() }
    var seeds: [UInt64] = Array(repeating: 0, count: Self.letterCount)
    var random = SeededGenerator(seed: 10)
    var worstPause = Duration.zero
    for step in 0..<(TestEffort.isSoak ? 21 : 6) * Self.letterCount {
      let number = step < Self.letterCount ? step : random.pick(0..<Self.letterCount)
      seeds[number] = UInt64(step + 1)
      var letter = letters[number]
      letter.scan = noise(Self.byteCount, seed: seeds[number])
      storage.beginCommit()
      let pause = try ContinuousClock().measure {
        if isStreamed {
          try stream(letter, to: store)
        } else {
          try store.write { tx in _ = try tx.put(letter) }
        }
      }
      storage.endCommit()
      worstPause = max(worstPause, pause)
      try #require(storage.excess <= 0, "step \(step): \(storage.finding)")
    }
    print("space: attachments: worst put \(worstPause), most of the bound", storage.mostOfBound)
    for (letter, seed) in zip(letters, seeds) {
      #expect(try store.get(Letter.self, letter.id)?.scan == noise(Self.byteCount, seed: seed))
    }
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  private func stream(_ letter: Letter, to store: Store) throws {
    var offset = 0
    let upload = try store.upload(to: \Letter.scan, of: letter.id) { buffer in
      let count = min(buffer.byteCount, letter.scan.count - offset)
      buffer.copy(letter.scan.rawSpan.extracting(offset..<offset + count), at: 0)
      offset += count
      return count
    }
    try store.write { tx in
      if try tx.get(Letter.self, letter.id) == nil { try tx.put(Letter(id: letter.id)) }
      try tx.update(Letter.self, letter.id) { $0.set(\.scan, upload) }
    }
  }
}

extension MeteredStorage {
  /// Measures a journal's store from now on.
  fileprivate func watch(_ journal: Journal) {
    watch {
      (journal.catalog.segments.liveByteCount, journal.log.space.aim)
    }
  }
}
