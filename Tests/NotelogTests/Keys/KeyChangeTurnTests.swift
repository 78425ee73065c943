// What others wait for while keys change: not for the keyring's files.

import Foundation
import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog

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
      Thread {
        if (try? store.putAll([Note(title: "meanwhile", body: "meanwhile")], .buffered)) != nil {
          isPut.signal()
        }
      }.start()
      // Whoever waited for ever would be told of by this.
      let isOver = isPut.wait(timeout: .now() + 20) == .timedOut
      counts.withLock { $0 = ($0.syncs + 1, $0.puts + (isOver ? 0 : 1)) }
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

  @Test(arguments: [true, false])
  func `the lock is neither lent nor given up while the keyring changes`(isClosed: Bool) throws {
    let (disk, store) = try Self.makeStore()
    let ended = DispatchSemaphore(value: 0)
    let (hasBegun, isTooEarly) = (Flag(false), Flag(false))
    disk.afterEachCall { call, name in
      guard call == .sync, name == "keyring", !hasBegun.exchange(true) else { return }
      Thread {
        do { if isClosed { try store.close() } else { try store.suspend() } } catch { Issue.record(error) }
        ended.signal()
      }.start()
      // It can't end before the change has, however long that is given.
      if ended.wait(timeout: .now() + 0.3) == .success { _ = isTooEarly.exchange(true) }
    }
    try store.createKey("new", .whenUnlocked)
    if !isTooEarly.isSet { ended.wait() }
    disk.afterEachCall(nil)
    #expect(hasBegun.isSet && !isTooEarly.isSet)
    #expect(disk.contents("keyring") == disk.contents("keyring.copy"))
    if !isClosed { try store.close() }
    let again = try Store.open(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(again.info.keys.contains { $0.name == "new" })
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
        disk.crashPoints.first { $0 >= start && disk.describe(call: $0) == "sync keyring.copy" })
      let image = disk.crashImage(after: copied, .processKilled, seed: 1)
      let opened = try Store.open(in: image, unlocking: TemporaryFolder.key, options: Store.Options())
      let generations = try #require(opened.info.keys.first { $0.name == "personal" }).generations
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
