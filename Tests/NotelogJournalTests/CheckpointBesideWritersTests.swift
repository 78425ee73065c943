// Checkpoints that are written while others write: they hold what was there when they began.
// docs/format-derived.md §31.

import Foundation
import NotelogTestSupport
import Synchronization
import Testing

@testable import NotelogBase
@testable import Notelog
@testable import NotelogFormat
@testable import NotelogStorage

@Suite struct CheckpointBesideWritersTests {
  private static func check(_ journal: Journal, _ expected: [Int: [UInt8]], _ place: String) throws {
    #expect(try journal.records().count == expected.count, "\(place)")
    for (number, body) in expected {
      guard try journal.body(of: key(number)) != body else { continue }
      Issue.record("\(place): record \(number) reads wrongly")
    }
  }

  @Test func `nobody waits for a checkpoint, and it holds what was there when it began`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var first: [Int: [UInt8]] = [:]
    for number in 0..<600 {
      first[number] = [UInt8(number % 256), 0]
      try journal.put(key(number), first[number] ?? [], .buffered)
    }
    // So many more that the file is written in several pieces.
    for number in 100_000..<120_000 {
      first[number] = [3]
      try journal.put(key(number), [3], .buffered)
    }
    let expected = Lock(first)
    let rounds = Atomic(0)
    disk.afterEachCall { call, name in
      guard call == .write, name == FileName.index + FileName.partialSuffix else { return }
      let round = rounds.add(1, ordering: .relaxed).newValue
      let isDone = DispatchSemaphore(value: 0)
      Thread {
        defer { isDone.signal() }
        do {
          // New ones, others, and some go: in all shards.
          for number in 0..<300 {
            let (new, changed, gone) = (1000 * round + number, number, 300 + number)
            try journal.put(key(new), [1], .buffered)
            try journal.put(key(changed), [2, UInt8(round)], .buffered)
            try journal.delete(key(gone), .buffered)
            expected.withLock { ($0[new], $0[changed], $0[gone]) = ([1], [2, UInt8(round)], nil) }
          }
        } catch { Issue.record(error) }
      }.start()
      // The checkpoint goes on when they are done: if they waited for it, this would never end.
      isDone.wait()
    }
    try journal.checkpoint()
    disk.afterEachCall(nil)
    #expect(rounds.load(ordering: .relaxed) >= 2)
    let all = expected.withLock { $0 }
    try Self.check(journal, all, "here")
    // What came meanwhile is no part of the checkpoint.
    #expect(journal.catalog.changeCount >= 900)
    for loss in [LossModel.processKilled, .allKept] {
      let image = disk.crashImageNow(loss, seed: 1)
      let opened = try Journal.open(in: image, options: .small)
      #expect(opened.report.checkpoint == .used)
      try Self.check(opened, all, "after \(loss)")
      try opened.close()
      #expect(try Journal.verify(image).isSound)
    }
    try journal.close()
    #expect(try Journal.verify(disk).isSound)
  }

  @Test func `checkpoints one after another beside writers are all sound`() throws {
    let options = JournalOptions.small
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: options)
    for number in 0..<3_000 { try journal.put(key(number), [0], .buffered) }
    for round in 0..<6 {
      let isOver = Flag(false)
      try Threads.run(3) { thread in
        defer { if thread == 0 { _ = isOver.exchange(true) } }
        if thread == 0 {
          for _ in 0..<3 { try journal.checkpoint() }
          return
        }
        var random = SeededGenerator(seed: UInt64(10 * round + thread))
        while !isOver.isSet {
          let number = Int.random(in: 0..<4_000, using: &random) * 2 + thread
          if number % 7 == 0 {
            try journal.delete(key(number), .buffered)
          } else {
            try journal.put(key(number), [UInt8(thread)], .buffered)
          }
        }
      }
      // The last one, with what came after it, is what the segments say.
      let copy = try store.crashedCopy()
      let opened = try Journal.open(in: copy.storage, options: options)
      #expect(opened.report.checkpoint == .used && opened.report.damages == [])
      try opened.close()
      #expect(try Journal.verify(copy.storage).isSound)
    }
    try journal.close()
    #expect(try Journal.verify(store.storage).isSound)
  }
}
