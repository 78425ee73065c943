// Crashes at every call of a creation: the folder is a whole store, or can be made one.

import NotelogCrypto
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct CreationCrashTests {
  private static let key = Notelog.Credential.key([UInt8](repeating: 7, count: 32))

  private static func create(in disk: SimulatedDisk) throws {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    let store = try Store.create(in: disk, unlocking: key, options: options) { store in
      try store.createCollection("note", fields: [.sealed("title", .text)])
      try store.createCollection("tag", fields: [.plain("name", .text)])
    }
    try store.close()
  }

  @Test func `a crash at any call leaves a whole store or a folder to make one in`() throws {
    let disk = SimulatedDisk()
    try Self.create(in: disk)
    var whole = 0
    var tried = 0
    for call in disk.crashPoints {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let place = "after \(disk.describe(call: call)), \(loss)"
        tried += 1
        do {
          let store = try Store.open(in: image, unlocking: Self.key, options: Store.Options())
          whole += 1
          #expect(store.collections.map(\.name) == ["note", "tag"], "\(place)")
          try store.close()
          // INV-L4: no mark makes it pass for one in the making.
          image.replace("creating", with: Array("notelog: a store is being made in this folder\n".utf8))
          #expect(throws: NotelogError(.alreadyExists, ""), "\(place)") { try Self.create(in: image) }
          try Store.open(in: image, unlocking: Self.key, options: Store.Options()).close()
        } catch let error as NotelogError {
          #expect(error.code == .notFound, "\(place): \(error)")
          #expect(throws: NotelogError(.notFound, "")) { try Store.verify(in: image, unlocking: nil) }
          do {
            try Self.create(in: image)
            #expect(try Store.verify(in: image, unlocking: Self.key).verdict == .sound, "\(place)")
          } catch { Issue.record("\(place): \(error)") }
        }
      }
    }
    // Both outcomes were among them, or the sweep looked at the wrong calls.
    #expect(whole > 0 && whole < tried && tried > 100)
    // Once it has returned, it stays.
    for loss in LossModel.allCases {
      try Store.open(
        in: disk.crashImageNow(loss, seed: 1), unlocking: Self.key, options: Store.Options()
      ).close()
    }
  }

  @Test func `what cannot be filled is not made`() throws {
    struct Refused: Error {}
    let disk = SimulatedDisk()
    #expect(throws: Refused.self) {
      try Store.create(in: disk, unlocking: Self.key, options: Store.Options()) { _ in throw Refused() }
    }
    #expect(disk.fileNames.isEmpty)
    try Self.create(in: disk)
    #expect(throws: NotelogError(.alreadyExists, "")) { try Self.create(in: disk) }
    #expect(throws: NotelogError(.alreadyExists, "")) {
      let other = SimulatedDisk()
      other.replace("letter", with: [1])
      try Self.create(in: other)
    }
  }
}
