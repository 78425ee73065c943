// Rotation, shredding, uploads, copies and crashes of values whose key their records name.

import Foundation
@testable import NotelogBase
import NotelogCrypto
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct ChosenKeyRotationTests {
  @Test func `rotating one of the keys seals anew what is under it, and nothing else`() throws {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let items = (0..<60).map { number in
      Belonging(
        title: "\(number)", shelter: Shelter.allCases[number % 3], secret: "s\(number)",
        scan: number < 3 ? noise(100_000) : nil)
    }
    try store.putAll(items)
    let before = try Shelter.counts(store)
    let old = try Shelter.number("home", store)
    var batch = try store.batch(of: Belonging.self)
    try batch.put(Belonging(secret: "early"))
    var step = try store.rotate("home", .bytes(1))
    #expect(throws: NotelogError(.conflict, "")) { try batch.commit() }
    #expect(try Shelter.counts(store) == before)
    // Half-way, both generations open, and naming another key takes from either.
    try store.write { tx in
      for item in [items[0], items[57]] {
        try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .work) }
      }
      for item in [items[1], items[58]] {
        try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .home) }
      }
    }
    while !step.isFinished { step = try store.rotate("home", .bytes(10_000)) }
    #expect(step.failedCount == 0 && step.retired == [old])
    #expect(try Shelter.counts(store) == before)
    #expect(try store.countSealedValues().counts[old] == nil)
    #expect(try store.countSealedValues().counts[step.generation] == before["home"])
    for (index, item) in items.enumerated() {
      let entry = try #require(try store.get(Belonging.self, item.id))
      let shelter: Shelter =
        [0, 57].contains(index) ? .work : [1, 58].contains(index) ? .home : item.shelter
      #expect(try entry.secret == item.secret && entry.scan == item.scan && entry.shelter == shelter)
    }
    try store.close()
    let again = try folder.open()
    try again.write { tx in try tx.update(Belonging.self, items[2].id) { $0.set(\.secret, "later") } }
    try again.putAll([Belonging(secret: "new")])
    try again.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `a key that is shredded takes the values of the records that named it, and no other's`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.createKey("home", .whenUnlocked)
    try store.createKey("work", .whenUnlocked, isShreddable: true)
    let items = [Belonging(secret: "at home"), Belonging(shelter: .work, secret: "at work")]
    try store.putAll(items)
    try store.rotate("work")
    try store.shredKey("work")
    #expect(try store.get(Belonging.self, items[0].id)?.secret == "at home")
    #expect(throws: NotelogError(.missingKey, "")) { try store.get(Belonging.self, items[1].id)?.secret }
    #expect(throws: NotelogError(.missingKey, "")) {
      try store.putAll([Belonging(shelter: .work, secret: "s")])
    }
    try store.putAll([Belonging(secret: "s")])
    try store.close()
    let again = try folder.open()
    #expect(throws: NotelogError(.missingKey, "")) { try again.get(Belonging.self, items[1].id)?.secret }
    #expect(try again.get(Belonging.self, items[0].id)?.record() == items[0])
  }

  @Test func `what was uploaded is under the key that the record named, and refused when it names another`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try Shelter.makeStore(folder)
    let item = Belonging(shelter: .work, secret: "s")
    try store.putAll([item])
    let bytes = noise(150_000)
    func upload(_ id: RecordID) throws -> Upload<Belonging> {
      var rest = bytes[...]
      return try store.upload(to: \Belonging.scan, of: id) { buffer in
        let part = rest.prefix(buffer.byteCount)
        buffer.copy(Array(part).rawSpan, at: 0)
        rest = rest.dropFirst(part.count)
        return part.count
      }
    }
    #expect(throws: NotelogError(.notFound, "")) { try upload(RecordID()) }
    let first = try upload(item.id)
    try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.scan, first) } }
    #expect(try store.get(Belonging.self, item.id)?.scan == bytes)
    #expect(try Shelter.counts(store)["work"] == 3)
    let second = try upload(item.id)
    try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .home) } }
    #expect(throws: NotelogError(.conflict, "")) {
      try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.scan, second) } }
    }
    #expect(try store.get(Belonging.self, item.id)?.scan == bytes)
    #expect(try Shelter.counts(store)["home"] == 3)
  }

  @Test func `backup, restore and salvage bring each record's key along`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Shelter.options)
    let items = Shelter.allCases.map { Belonging(title: "t", shelter: $0, secret: "s", scan: noise(70_000)) }
    try store.putAll(items)
    try store.close()
    let (backup, restored, salvaged) = (SimulatedDisk(), SimulatedDisk(), SimulatedDisk())
    _ = try Shipper(disk, to: backup.archive).ship()
    _ = try Store.restore(backup.archive, to: restored)
    _ = try Store.salvage(from: disk, to: salvaged)
    for copy in [restored, salvaged] {
      let store = try Store.open(in: copy, unlocking: TemporaryFolder.key, options: Shelter.options)
      for item in items { #expect(try store.get(Belonging.self, item.id)?.record() == item) }
      #expect(try Shelter.counts(store) == ["home": 3, "work": 3, "away": 3, "default": 3])
      try store.close()
    }
  }

  @Test func `a crash while a record names another key leaves all of its values under one`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Shelter.options)
    let item = Belonging(title: "t", name: "n", secret: "s", scan: noise(70_000))
    try store.putAll([item])
    let start = disk.callCount
    try store.write { tx in try tx.update(Belonging.self, item.id) { $0.set(\.shelter, .work) } }
    try store.close()
    var seen: Set<Shelter> = []
    for (index, call) in disk.crashPoints.filter({ $0 >= start }).enumerated() {
      let loss = LossModel.allCases[index % LossModel.allCases.count]
      let image = disk.crashImage(after: call, loss, seed: UInt64(call))
      let store = try Store.open(in: image, unlocking: TemporaryFolder.key, options: Shelter.options)
      var found = try #require(try store.get(Belonging.self, item.id)).record()
      seen.insert(found.shelter)
      #expect(try Shelter.counts(store) == [found.shelter.rawValue: 3, "default": 1])
      found.shelter = .home
      #expect(found == item, "after \(disk.describe(call: call)), \(loss)")
      try store.close()
    }
    #expect(seen == [.home, .work])
  }
}
