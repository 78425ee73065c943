// Long work by tasks: keys and credentials, maintenance, scans, figures and uploads come to the same as
// without `await`, and end with the task.

import Foundation
import NotelogBase
@testable import Notelog
import Testing

/// A verb under test: what it is called, and one use of it, which a task runs.
private struct Verb<Subject: Sendable>: Sendable {
  let name: String
  let use: @Sendable (Subject) throws -> Void

  init(_ name: String, _ use: @escaping @Sendable (Subject) throws -> Void) {
    (self.name, self.use) = (name, use)
  }
}

/// A store of many small segments, of which half is dead, and folders beside it.
private final class Workshop: Sendable {
  let folder: TemporaryPlace
  let store: Store
  let notes: [Note]

  init() throws {
    folder = try TemporaryPlace()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    options.passwordWork = 14
    store = try Store.create(at: folder["store"], unlocking: TemporaryFolder.key, options: options)
    notes = (0..<200).map { number in
      Note(
        time: Date(timeIntervalSinceReferenceDate: Double(number)), title: "title \(number)",
        body: noise(400, seed: UInt64(number)).map(String.init).joined())
    }
    // A transaction lies in one segment.
    for start in stride(from: 0, to: 400, by: 10) {
      try store.putAll(Array(notes[start % 200..<start % 200 + 10]))
    }
  }
}

/// A folder with names in it, gone with the test.
private final class TemporaryPlace: Sendable {
  let path = FileManager.default.temporaryDirectory.appending(path: "notelog-\(UUID().uuidString)").path()

  init() throws { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  subscript(name: String) -> String { path + "/" + name }

  func names(in name: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: self[name]).sorted()
  }
}

/// Runs `body` in a task, and hands it what cancels that task: by the time it returns, whoever works for the
/// task is told.
private func ending(
  _ body: @escaping @Sendable (_ cancel: @escaping @Sendable () -> Void) async throws -> Void
) async -> (any Error)? {
  let task = Lock<Task<Void, any Error>?>(nil)
  let isKnown = DispatchSemaphore(value: 0)
  let handle = Shared(task)
  let begun = Task {
    try await body {
      isKnown.wait()
      isKnown.signal()
      handle.value.withLock { $0 }?.cancel()
    }
  }
  handle.value.withLock { $0 = begun }
  isKnown.signal()
  return switch await begun.result {
  case .success: nil
  case .failure(let error): error
  }
}

/// A lock that closures share.
private final class Shared<State: Sendable>: Sendable {
  let value: Lock<State>
  init(_ value: consuming Lock<State>) { self.value = value }
}

@Suite struct AsyncOverloadTests {
  private static let (first, second) = (Credential.password("first"), Credential.password("second"))
  private static let other = Credential.key([UInt8](repeating: 7, count: 32))

  /// One after another, on one store.
  private static let keyVerbs: [Verb<Workshop>] = [
    Verb("addCredential") { try $0.store.addCredential(first, work: 14) },
    Verb("changeCredential") { shop in
      try shop.store.changeCredential(first, to: second, work: 14)
      #expect(throws: NotelogError(.wrongPassword, "")) { try shop.store.unlock(first) }
    },
    Verb("unlock") { shop in
      shop.store.lock(.everything)
      try shop.store.unlock(second)
      #expect(shop.store.isUnlocked)
    },
    Verb("unlock(.root)") { shop in
      let root = try shop.store.unlockRoot()
      shop.store.lock(.everything)
      try shop.store.unlock(.root(root))
      #expect(shop.store.isUnlocked)
    },
    Verb("addRecoveryKey") { shop in
      let text = try shop.store.addRecoveryKey()
      shop.store.lock(.everything)
      try shop.store.unlock(.recoveryKey(text: text))
    },
    Verb("grant") { shop in
      try shop.store.grant(["personal"], to: other)
      #expect(shop.store.info().slots.map(\.grant) == [nil, nil, nil, ["personal"]])
    },
    Verb("removeSlot") { shop in
      let slot = try #require(shop.store.info().slots.first { $0.grant != nil })
      try shop.store.removeSlot(slot.number)
      #expect(throws: NotelogError(.wrongPassword, "")) { try shop.store.unlock(other) }
    },
    Verb("removeCredential") { shop in
      try shop.store.removeCredential(second)
      #expect(shop.store.info().slots.map(\.kind) == ["key", "recovery key"])
    },
    Verb("createKey and shredKey") { shop in
      try shop.store.createKey("gone", .whenUnlocked, isShreddable: true)
      try shop.store.shredKey("gone")
      #expect(shop.store.info().keys.first { $0.isShreddable }?.state == .shredded)
    },
    Verb("beginRotation and rotate") { shop in
      let store = shop.store
      try store.beginRotation(of: "personal")
      let counts = try store.countSealedValues().counts
      let step = try store.rotate("personal")
      #expect(step.isFinished && step.resealedCount == 200)
      let after = try store.countSealedValues().counts
      #expect(after[step.generation] == 200 && counts[step.generation] == nil && after.count == counts.count)
    },
    Verb("rekey") { shop in
      try shop.store.rekey(TemporaryFolder.key, to: other)
      #expect(shop.store.info().slots.count == 1)
      #expect(throws: NotelogError(.wrongPassword, "")) {
        try shop.store.unlock(TemporaryFolder.key)
      }
      try shop.store.unlock(other)
    },
  ]

  @Test func `keys and credentials are changed by tasks`() async throws {
    let shop = try Workshop()
    for verb in Self.keyVerbs {
      do { try await shop.store.run { _ in try verb.use(shop) } } catch {
        Issue.record("\(verb.name): \(error)")
      }
    }
    #expect(try shop.store.get(Note.self, shop.notes[7].id)?.body == shop.notes[7].body)
    try await shop.store.close()
  }

  private static let careVerbs: [Verb<Workshop>] = [
    Verb("info") { shop in
      let figures = shop.store.info()
      #expect(figures.recordCount == 200 && figures.id == shop.store.info().id)
    },
    Verb("ship and restore") { shop in
      let place = shop.folder
      let told = Shared(Lock(0))
      let archive = FolderArchive(path: place["archive"])
      let first = try shop.store.ship(to: archive) { done, total in
        told.value.withLock { $0 += done <= total ? 1 : 0 }
        return true
      }
      #expect(first.putObjects > 4 && told.value.withLock { $0 } > 0)
      let second = try Shipper(of: place["store"], to: archive).ship(checkingAll: true)
      #expect(second.keptSegments > 4 && second.findings.isEmpty)
      #expect(try Store.restore(from: archive, to: place["restored"]).findings.isEmpty)
      let condition = try Store.verify(
        at: place["restored"], unlocking: TemporaryFolder.key, threadCount: 2)
      #expect(condition.verdict == .sound && condition.openedCount == 400)
    },
    Verb("salvage") { shop in
      let (from, to) = (shop.folder["archive"], shop.folder["salvaged"])
      let summary = try Store.salvage(from: from, to: to)
      #expect(summary.recordCount >= 200)
    },
    Verb("scrub") { shop in
      let scrubbed = try shop.store.scrub(from: nil, .bytes(1))
      #expect(scrubbed.segmentCount == 1 && scrubbed.next != nil)
    },
    Verb("compactIfDue") { shop in
      let isMore = try shop.store.compactIfDue()
      #expect(!isMore)
    },
    Verb("compact and purge") { shop in
      try shop.store.write { tx in
        for note in shop.notes.prefix(50) { try tx.delete(Note.self, note.id) }
      }
      #expect(try shop.store.compact { _, _ in true }.removedSegments > 0)
      #expect(try !shop.store.purge().isUnfinished)
    },
    Verb("suspend, resume and refresh") { shop in
      try shop.store.suspend()
      #expect(throws: NotelogError(.suspended, "")) {
        try shop.store.write { tx in try tx.put(Note()) }
      }
      #expect(try !shop.store.refresh())
      try shop.store.resume(waiting: .seconds(1))
    },
    Verb("forEachPiece") { shop in
      let count = Shared(Lock(0))
      try Store.forEachPiece(at: shop.folder["store"]) { _ in count.value.withLock { $0 += 1 } }
      #expect(count.value.withLock { $0 } > 150)
    },
    Verb("scan") { shop in
      let seen = Shared(Lock(Set<String>()))
      let snapshot = shop.store.snapshot()
      for part in 0..<2 {
        try snapshot.scan(Note.self, part: part, of: 2) { entry in
          let title = try entry.title
          seen.value.withLock { $0 = $0.union([title]) }
          return true
        }
      }
      #expect(seen.value.withLock { $0 } == Set(shop.notes.dropFirst(50).map(\.title)))
      try shop.store.scan(Note.self) { entry in
        let title = try entry.title
        seen.value.withLock { _ = $0.remove(title) }
        return true
      }
      #expect(seen.value.withLock { $0.isEmpty })
    },
    Verb("get by a reference") { shop in
      let reference = try shop.store.reference(to: Note.self, shop.notes[60].id)
      #expect(try shop.store.get(Note.self, reference)?.title == "title 60")
    },
    Verb("create with contents") { shop in
      let made = try Store.create(at: shop.folder["filled"], unlocking: TemporaryFolder.key) { store in
        try store.putAll(Array(shop.notes.prefix(3)))
      }
      #expect(try made.query(Note.self).count() == 3)
      try made.close()
    },
  ]

  @Test func `a store is looked after, scanned and copied by tasks`() async throws {
    let shop = try Workshop()
    for verb in Self.careVerbs {
      do { try await shop.store.run { _ in try verb.use(shop) } } catch {
        Issue.record("\(verb.name): \(error)")
      }
    }
    try await shop.store.close()
  }

  @Test func `figures are asked for by tasks`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let samples = (0..<50).map { Sample(count: $0, ratio: Double($0) / 2, perhaps: $0 > 9 ? "\($0)" : nil) }
    try store.putAll(samples)
    let query = store.query(Sample.self).where(\.count, in: 5...)
    #expect(try await store.run { _ in try query.min(of: \.count) } == 5)
    #expect(try await store.run { _ in try query.max(of: \.count) } == 49)
    #expect(try await store.run { _ in try query.min(of: \.perhaps) } == "10")
    #expect(try await store.run { _ in try query.max(of: \.perhaps) } == "49")
    #expect(try await store.run { _ in try query.sum(of: \.count) } == (5..<50).reduce(0, +))
    #expect(try await store.run { _ in try query.sum(of: \.ratio) } == Double((5..<50).reduce(0, +)) / 2)
  }

  @Test func `a value is uploaded from a closure and from a file by tasks`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let (bytes, letter) = (noise(200_000), Letter(subject: "streamed"))
    let offset = Shared(Lock(0))
    let upload = try await store.run {
      try $0.upload(to: \Letter.scan, of: letter.id) { target in
        let start = offset.value.withLock { $0 }
        let count = min(target.byteCount, bytes.count - start, 7_001)
        target.copy(Array(bytes[start..<start + count]).rawSpan, at: 0)
        offset.value.withLock { $0 += count }
        return count
      }
    }
    let place = try TemporaryPlace()
    try Data(bytes).write(to: URL(filePath: place["file"]))
    let file = try #require(FileHandle(forReadingAtPath: place["file"]))
    let back = try await store.run { try $0.upload(to: \Letter.back, of: letter.id, from: file) }
    try await store.write { tx in
      try tx.put(letter)
      try tx.update(Letter.self, letter.id) {
        $0.set(\.scan, upload)
        $0.set(\.back, back)
      }
    }
    let entry = try #require(try store.get(Letter.self, letter.id))
    #expect(try entry.value(of: \.scan) == bytes)
    #expect(try entry.value(of: \.back) == bytes)
  }

  // MARK: - The end of the task

  private typealias Cancel = @Sendable () -> Void

  /// What leaves nothing behind, cancelled when it first tells of its progress.
  private static let stopped: [Verb<(Workshop, Cancel)>] = [
    Verb("ship") { shop, cancel in
      try shop.store.ship(to: FolderArchive(path: shop.folder["archive 2"])) { _, _ in
        cancel()
        return true
      }
    },
    Verb("a shipper's ship") { shop, cancel in
      try Shipper(of: shop.folder["store"], to: FolderArchive(path: shop.folder["archive 2"])).ship { _, _ in
        cancel()
        return true
      }
    },
    Verb("restore") { shop, cancel in
      try Store.restore(from: FolderArchive(path: shop.folder["archive"]), to: shop.folder["restored"]) {
        _, _ in
        cancel()
        return true
      }
    },
    Verb("salvage") { shop, cancel in
      _ = try Store.salvage(from: shop.folder["archive"], to: shop.folder["salvaged"]) { _, _ in
        cancel()
        return true
      }
    },
    Verb("verify") { shop, cancel in
      _ = try Store.verify(at: shop.folder["store"]) { _, _ in
        cancel()
        return true
      }
    },
    Verb("scan") { shop, cancel in
      let count = Shared(Lock(0))
      defer { #expect(count.value.withLock { $0 } == 1) }
      try shop.store.scan(Note.self) { _ in
        count.value.withLock { $0 += 1 }
        cancel()
        return true
      }
    },
    Verb("forEachPiece") { shop, cancel in
      try Store.forEachPiece(at: shop.folder["store"]) { _ in cancel() }
    },
    Verb("max") { shop, cancel in
      _ = try shop.store.query(Note.self).filter(\.title) { _ in
        cancel()
        return false
      }.max(of: \.time)
    },
    Verb("upload from a closure") { shop, cancel in
      _ = try shop.store.upload(to: \Letter.scan, of: RecordID()) { _ in
        cancel()
        return 100
      }
    },
  ]

  @Test func `work that leaves nothing behind ends with its task`() async throws {
    let shop = try Workshop()
    try shop.store.ship(to: FolderArchive(path: shop.folder["archive"]))
    for verb in Self.stopped {
      let error = await ending { cancel in try await shop.store.run { _ in try verb.use((shop, cancel)) } }
      #expect(error is CancellationError, "\(verb.name): \(String(describing: error))")
    }
    #expect(try shop.folder.names(in: "restored").isEmpty && shop.folder.names(in: "salvaged").isEmpty)
    #expect(throws: NotelogError(.notFound, "")) {
      try Store.restore(from: FolderArchive(path: shop.folder["archive 2"]), to: shop.folder["restored"])
    }
    // A stream ends where its task does: what it gave by then is not the value.
    let (pieces, continuation) = AsyncStream<[UInt8]>.makeStream()
    continuation.yield(noise(100_000))
    let error = await ending { cancel in
      Thread.detachNewThread(cancel)
      _ = try await shop.store.upload(to: \Letter.scan, of: RecordID(), from: pieces)
    }
    #expect(error is CancellationError)
    #expect(throws: CancellationError.self) {
      try Cancellation.$flag.withValue(Flag(true)) { try shop.store.countSealedValues() }
    }
  }

  @Test func `work in steps ends early with its task, says so, and goes on`() async throws {
    let shop = try Workshop()
    let store = shop.store
    try await store.write { tx in
      for note in shop.notes where note.title.hasSuffix("7") { try tx.delete(Note.self, note.id) }
    }
    /// A budget that cancels when it is asked whether it is spent.
    @Sendable func spending(_ cancel: @escaping Cancel) -> WorkBudget {
      WorkBudget {
        cancel()
        return false
      }
    }
    let steps: [Verb<(Workshop, Cancel)>] = [
      Verb("scrub") { shop, cancel in
        let summary = try shop.store.scrub(from: nil, spending(cancel))
        #expect(summary.next != nil)
      },
      Verb("compact") { shop, cancel in
        let summary = try shop.store.compact(spending(cancel))
        #expect(summary.isUnfinished)
      },
      Verb("compact, by its progress") { shop, cancel in
        let summary = try shop.store.compact { _, _ in
          cancel()
          return true
        }
        #expect(summary.isUnfinished)
      },
      Verb("purge") { shop, cancel in
        let summary = try shop.store.purge { _, _ in
          cancel()
          return true
        }
        #expect(summary.isUnfinished)
      },
      Verb("rotate") { shop, cancel in
        let step = try shop.store.rotate("personal", spending(cancel))
        #expect(!step.isFinished && (1..<180).contains(step.resealedCount))
      },
    ]
    for verb in steps {
      let error = await ending { cancel in try await shop.store.run { _ in try verb.use((shop, cancel)) } }
      #expect(error == nil, "\(verb.name): \(String(describing: error))")
    }
    #expect(try store.rotate("personal").isFinished)
    #expect(try !store.purge().isUnfinished)
    #expect(try store.query(Note.self).count() == 180)
    #expect(try Store.verify(at: shop.folder["store"]).verdict == .sound)
  }

  @Test func `nothing is begun in a task that is cancelled already`() async throws {
    let shop = try Workshop()
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      _ = try await shop.store.run { try $0.ship(to: FolderArchive(path: shop.folder["archive"])) }
    }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
    #expect(!FileManager.default.fileExists(atPath: shop.folder["archive"]))
  }
}
