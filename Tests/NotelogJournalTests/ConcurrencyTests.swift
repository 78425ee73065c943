// Writers side by side: INV-T2, INV-T4 and the order of visibility.

@testable import Notelog
import NotelogFormat
import Foundation
import NotelogBase
import Synchronization
import Testing

@Suite struct ConcurrencyTests {
  /// Runs a closure on that many threads and waits for all.
  private func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    let failures = Lock<[String]>([])
    let group = DispatchGroup()
    for index in 0..<count {
      group.enter()
      // Threads of their own: a pool has no more of them than cores, and would run the closures one after
      // another.
      Thread {
        do { try body(index) } catch { failures.withLock { $0.append("\(error)") } }
        group.leave()
      }.start()
    }
    group.wait()
    #expect(failures.withLock { $0 } == [])
  }

  /// INV-T2: no increment of a shared record is lost, whatever else is being written.
  @Test func `sixteen writers increment one record and none is lost`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let counter = key(0)
    try onThreads(16) { thread in
      for round in 0..<40 {
        try journal.write(round % 8 == 0 ? .durable : .flushed) { batch in
          var buffer = ReadBuffer()
          let known = try journal.read(counter, as: batch, into: &buffer)
          let value = known == nil ? 0 : buffer.body.load(UInt64.self, at: 0)
          batch.put(counter, collection: 1, bodyByteCount: 8) { $0.store(value + 1, at: 0) }
        }
        try journal.put(key(1000 + thread * 100 + round), [UInt8](repeating: UInt8(thread), count: 200))
      }
    }
    #expect(try journal.body(of: counter) == [128, 2, 0, 0, 0, 0, 0, 0])
    #expect(try journal.records().count == 1 + 16 * 40)
    try journal.close()
    let again = try Journal.open(in: store.storage, options: .small)
    #expect(again.report.damages == [])
    #expect(try again.body(of: counter) == [128, 2, 0, 0, 0, 0, 0, 0])
    #expect(try again.records().count == 1 + 16 * 40)
  }

  /// INV-T2: when a commit returns, everything with a lower sequence number is visible.
  @Test func `nothing is acknowledged before what came earlier is visible`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let acknowledged = Lock<[UInt64: ID16]>([:])
    try onThreads(8) { thread in
      for round in 0..<100 {
        let id = key(thread * 1000 + round)
        var batch = Batch()
        batch.put(id, collection: 1, bodyByteCount: 100) { $0.store(UInt64(round), at: 0) }
        let sequence = try journal.commit(&batch, round % 10 == 0 ? .durable : .buffered)
        let earlier = acknowledged.withLock { known in
          known[sequence] = id
          return known.filter { $0.key < sequence }
        }
        for (revision, id) in earlier { #expect(try journal.revision(of: id) == revision) }
      }
    }
    #expect(acknowledged.withLock { $0.keys.sorted() } == Array(1...800))
  }

  @Test func `compaction runs beside writers and readers`() throws {
    let store = try TemporaryStore()
    let journal = try Journal.create(in: store.storage, storeID: key(99), options: .small)
    let isDone = SharedFlag()
    try onThreads(4) { thread in
      if thread == 0 {
        defer { isDone.set() }
        for round in 0..<20 {
          for number in 0..<100 { try journal.put(key(number), [UInt8](repeating: UInt8(round), count: 150)) }
        }
      } else if thread == 1 {
        while !isDone.isSet { _ = try journal.compact() }
      } else {
        var last = [Int](repeating: -1, count: 100)
        while !isDone.isSet {
          for number in 0..<100 {
            guard let body = try journal.body(of: key(number)) else { continue }
            // A reader never goes back to an older version.
            #expect(Int(body[0]) >= last[number])
            last[number] = Int(body[0])
          }
        }
      }
    }
    for number in 0..<100 { #expect(try journal.body(of: key(number))?.first == 19) }
    _ = try journal.compact()
    #expect(journal.statistics.segments.byteCount < 100_000)
    try journal.close()
    #expect(try Journal.verify(store.storage).report.damages == [])
  }
}

/// A flag that threads share.
final class SharedFlag: Sendable {
  private let value = Atomic<Bool>(false)

  var isSet: Bool { value.load(ordering: .acquiring) }
  func set() { value.store(true, ordering: .releasing) }
}
