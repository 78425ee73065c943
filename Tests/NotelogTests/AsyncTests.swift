// The door for tasks: the same verbs, and no thread of the pool held up.

import Dispatch
import Foundation
import Testing

@testable import Notelog

@Suite struct AsyncTests {
  @Test func `every verb can be run for a task`() async throws {
    let folder = try TemporaryFolder()
    let created = try await Store.create(at: folder.path, unlocking: TemporaryFolder.key)
    try await created.close()
    let store = try await Store.open(at: folder.path)
    try await store.run { try $0.unlock(TemporaryFolder.key) }
    let notes = (0..<20).map { Note(time: Date(timeIntervalSinceReferenceDate: Double($0)), title: "\($0)") }
    try await store.run { _ = try $0.putAll(notes) }
    let count = try await store.write { tx in
      try tx.delete(Note.self, notes[0].id)
      return 19
    }
    #expect(try await store.run { try $0.query(Note.self).count() } == count)
    #expect(
      try await store.run { try $0.query(Note.self).sorted(by: \.time, .descending).first()?.title } == "19")
    #expect(
      try await store.run { try $0.query(Note.self).where(\.time, is: notes[3].time).entries().count } == 1)
    let snapshot = store.snapshot()
    #expect(try await store.run { try $0.get(Note.self, notes[1].id)?.value(of: \.title) } == "1")
    #expect(try await store.run { _ in try snapshot.get(Note.self, notes[1].id) != nil })
    let many = try await store.run { try $0.getMany(Note.self, notes.prefix(2).map(\.id)).map { $0 != nil } }
    #expect(many == [false, true])
    try await store.run { _ = try $0.compact() }
    do {
      try await store.write { _ in throw CancellationError() }
      Issue.record("nothing was thrown")
    } catch is CancellationError {}
    do {
      try await store.run { try $0.unlock(.key([UInt8](repeating: 9, count: 32))) }
      Issue.record("nothing was thrown")
    } catch let error as NotelogError { #expect(error.code == .wrongPassword) }
    try await store.close()
    let path = folder.path
    #expect(try await Store.run { try Store.verify(at: path).verdict } == .sound)
  }

  /// Where both took their threads from one pool, which grew by one a second, this took as many seconds as
  /// there are writers.
  @Test(.timeLimit(.minutes(2))) func `writers that wait for one another hold up no task that doesn't`()
    async throws
  {
    let writerCount = min(130 + ProcessInfo.processInfo.activeProcessorCount, 240)
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let gate = DispatchSemaphore(value: 0)
    // More closures than the cooperative pool has threads, behind one that waits.
    var first: Task<Void, any Error>?
    await withCheckedContinuation { isWriting in
      first = Task {
        try await store.write(.buffered) { tx in
          isWriting.resume()
          try tx.put(Note())
          gate.wait()
        }
      }
    }
    let others = Task {
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<writerCount {
          group.addTask { _ = try await store.write(.buffered) { tx in try tx.put(Note()) } }
        }
        try await group.waitForAll()
      }
    }
    // Tasks still run.
    var sum = 0
    for number in 0..<100 { sum += await Task { number }.value }
    #expect(sum == 4_950)
    gate.signal()
    try await first?.value
    try await others.value
    #expect(try await store.run { try $0.query(Note.self).count() } == writerCount + 1)
  }

  @Test func `a large value is streamed in and out by tasks`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let bytes = noise(300_000)
    let letter = Letter(subject: "streamed")
    let pieces = AsyncStream<[UInt8]> { continuation in
      for start in stride(from: 0, to: bytes.count, by: 7_001) {
        continuation.yield(Array(bytes[start..<min(bytes.count, start + 7_001)]))
      }
      continuation.finish()
    }
    let upload = try await store.upload(to: \Letter.scan, of: letter.id, from: pieces)
    try await store.write { tx in
      try tx.put(letter)
      try tx.update(Letter.self, letter.id) { $0.set(\.scan, upload) }
    }
    let content = try #require(try store.get(Letter.self, letter.id)?.content(of: \.scan))
    var back: [UInt8] = []
    for try await piece in content.pieces { back += piece }
    #expect(back == bytes)
    #expect(try content.read(150_000..<150_010) == Array(bytes[150_000..<150_010]))
  }
}
