// What others wait for while keys change: not for the keyring's files.

import Foundation
import NotelogBase
@testable import Notelog
import NotelogStorage
import NotelogTestSupport
import Testing

@Suite struct KeyChangeTurnTests {
  private static func makeStore() throws -> (SimulatedDisk, Store) {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    try store.putAll((0..<100).map { Note(title: "title \($0)", body: "body \($0)") })
    return (disk, store)
  }

  @Test(arguments: ["a generation", "all of a rotation", "a key", "a credential", "no credential"])
  func `others put while the keyring's files are written`(_ change: String) throws {
    let (disk, store) = try Self.makeStore()
    try store.addCredential(.key([UInt8](repeating: 8, count: 32)))
    // How often a file of the keyring was synced, and somebody could put a note before that call returned.
    let counts = Lock((syncs: 0, puts: 0))
    disk.afterEachCall { call, name in
      guard call == .sync, name.hasPrefix("keyring") else { return }
      let isPut = DispatchSemaphore(value: 0)
      counts.withLock { $0.syncs += 1 }
      Thread {
        defer { isPut.signal() }
        do {
          try store.putAll([Note(title: "meanwhile", body: "meanwhile")], .buffered)
          counts.withLock { $0.puts += 1 }
        } catch { Issue.record(error) }
      }.start()
      // The change goes on when it is put: if that waited for the change, this would never end.
      isPut.wait()
    }
    switch change {
    case "a generation": try store.beginRotation(of: "personal")
    case "all of a rotation": #expect(try store.rotate("personal").isFinished)
    case "a key": try store.createKey("new", .whenUnlocked)
    case "a credential": try store.addCredential(.key([UInt8](repeating: 9, count: 32)))
    default: try store.removeCredential(.key([UInt8](repeating: 8, count: 32)))
    }
    disk.afterEachCall(nil)
    let (syncs, puts) = counts.withLock { $0 }
    #expect(syncs >= (change == "all of a rotation" ? 4 : 2) && puts == syncs)
    #expect(try store.query(Note.self).count() == 100 + puts)
    try store.close()
  }

  /// What a rotation makes due, the rotation does: writers copy no segment and write no checkpoint for it.
  @Test func `others compact nothing while a key is rotated`() throws {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    options.compaction = .automatic
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let body = String(repeating: "body ", count: 60)
    try store.putAll((0..<8000).map { Note(title: "title \($0)", body: body) })
    let ownThread = pthread_self()
    let copies = Lock((own: 0, others: 0))
    let (isOver, mayWrite, isDone) = (Flag(false), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    Thread {
      var count = 0
      while true {
        mayWrite.wait()
        // However late this thread is, it writes once.
        while mayWrite.wait(timeout: .now()) == .success {}
        if isOver.isSet { break }
        count += 1
        // So much that each time it is looked whether compaction is due.
        let notes = (0..<40).map { Note(title: "other \(count).\($0)", body: body) }
        do { try store.putAll(notes, .buffered) } catch { Issue.record(error) }
      }
      isDone.signal()
    }.start()
    let writeCount = Lock(0)
    disk.afterEachCall { call, name in
      let isOwn = pthread_equal(pthread_self(), ownThread) != 0
      if call == .sync, name.hasSuffix(".partial") {
        copies.withLock { $0 = ($0.own + (isOwn ? 1 : 0), $0.others + (isOwn ? 0 : 1)) }
      }
      // No faster than the rotation is: who fills the store faster than it can be compacted waits, and helps.
      guard call == .write, isOwn, !name.hasSuffix(".partial") else { return }
      let isEighth = writeCount.withLock { count in
        count += 1
        return count % 8 == 0
      }
      if isEighth { mayWrite.signal() }
    }
    var isFinished = false
    while !isFinished { isFinished = try store.rotate("personal").isFinished }
    disk.afterEachCall(nil)
    _ = isOver.exchange(true)
    mayWrite.signal()
    isDone.wait()
    let (own, others) = copies.withLock { $0 }
    #expect(own > 3)
    #expect(others == 0, "beside \(own)")
    try store.close()
  }

  /// As long as others leave it to the rotation, nobody else would.
  @Test func `a rotation leaves no compaction due`() throws {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    options.compaction = .automatic
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    let body = String(repeating: "body ", count: 60)
    try store.putAll((0..<3000).map { Note(title: "title \($0)", body: body) })
    try store.beginRotation(of: "personal")
    let begun = store.info().usedByteCount
    var dueCount = 0
    for _ in 0..<40 {
      let step = try store.rotate("personal", .bytes(32 << 10))
      if step.isFinished { break }
      dueCount += store.journal.log.space.isDue ? 1 : 0
    }
    #expect(dueCount == 0 && store.info().usedByteCount < begun * 3 / 2)
    try store.close()
  }

  @Test(arguments: [true, false])
  func `the lock is neither lent nor given up while the keyring changes`(isClosed: Bool) throws {
    let (disk, store) = try Self.makeStore()
    let ended = DispatchSemaphore(value: 0)
    let (hasBegun, isTooEarly) = (Flag(false), Flag(false))
    disk.afterEachCall { call, name in
      guard call == .sync, name == "keyring.partial", !hasBegun.exchange(true) else { return }
      Thread {
        do { if isClosed { try store.close() } else { try store.suspend() } } catch { Issue.record(error) }
        ended.signal()
      }.start()
      // It can't end before the change has, however long that is given.
      if ended.wait(timeout: .now() + 0.3) == .success { _ = isTooEarly.exchange(true) }
    }
    try store.createKey("new", .whenUnlocked)
    if hasBegun.isSet, !isTooEarly.isSet { ended.wait() }
    disk.afterEachCall(nil)
    #expect(hasBegun.isSet && !isTooEarly.isSet)
    #expect(disk.contents("keyring") == disk.contents("keyring.copy"))
    if !isClosed { try store.close() }
    let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(again.info().keys.contains { $0.name == "new" })
    try again.close()
  }

  /// A generation that no schema lists yet: what a process leaves that dies after it made one.
  @Test func `a generation that was made and not used is used by the next step, or by who writes next`()
    throws
  {
    for isRotated in [true, false] {
      let (disk, store) = try Self.makeStore()
      let start = disk.callCount
      try store.beginRotation(of: "personal")
      let copied = try #require(
        disk.crashPoints.first { $0 >= start && disk.describe(call: $0) == "rename keyring.copy.partial" })
      let image = disk.crashImage(after: copied, .processKilled, seed: 1)
      let opened = try Store.open(in: image, unlocking: TemporaryFolder.key, options: Store.Options())
      let generations = try #require(opened.info().keys.first { $0.name == "personal" }).generations
      #expect(generations.count == 2)
      #expect(try opened.countSealedValues().counts[generations[1]] == nil)
      if isRotated {
        let step = try opened.rotate("personal")
        #expect(step.isFinished && step.generation == generations[1] && step.resealedCount == 100)
      } else {
        try opened.putAll([Note(title: "next", body: "next")])
        #expect(try opened.countSealedValues().counts[generations[1]] == 1)
      }
      #expect(try opened.query(Note.self).entries().allSatisfy { try !$0.body.isEmpty })
      try opened.close()
      try store.close()
    }
  }
}
