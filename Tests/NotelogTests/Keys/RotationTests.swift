// Rotation: values sealed anew in steps, exact counts, and generations that are given up (FORMAT.md 21.4).

import Foundation
import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct RotationTests {
  private static let small: Store.Options = {
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    return options
  }()

  private static func open(_ disk: SimulatedDisk) throws -> Store {
    try Store.open(in: disk, unlocking: TemporaryFolder.key, options: small)
  }

  /// Counts what is sealed under each key by reading record after record.
  private static func count(_ store: Store) throws -> [UInt32: Int] {
    var counts: [UInt32: Int] = [:]
    for collection in store.collections {
      let plan = try #require(
        store.registry.withLock { registry in
          registry.byNumber.values.first { $0.plan.schema.name == collection.name }?.plan
        })
      for entry in try collection.query().entries() {
        for field in try entry.stored.entries()
        where plan.index(of: field.number) != nil && field.keyReference != 0 {
          counts[field.keyReference, default: 0] += 1
        }
      }
    }
    return counts
  }

  @Test
  func
    `new values are under the new generation at once, old ones step by step, and then the old one is gone`()
    throws
  {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let notes = (0..<400).map { Note(title: "title \($0)", body: "body \($0)") }
    try store.putAll(notes)
    let name = "personal"
    let old = try #require(store.info().keys.first { $0.name == name }).number
    #expect(try store.countSealedValues().counts[old] == 400)
    var (steps, resealed) = (0, 0)
    var last = try store.rotate(name, .bytes(1))
    let new = last.generation
    #expect(new != old && !last.isFinished && last.resealedCount > 0 && last.resealedCount < 400)
    #expect(store.info().keys.first { $0.name == name }?.generations == [old, new])
    try store.putAll([Note(title: "new", body: "new")])
    #expect(try store.countSealedValues().counts == Self.count(store))
    resealed = last.resealedCount
    while !last.isFinished {
      last = try store.rotate(name, .bytes(20_000))
      (steps, resealed) = (steps + 1, resealed + last.resealedCount)
      #expect(last.obstacle == nil && last.failedCount == 0 && steps < 100)
      #expect(try store.countSealedValues().counts == Self.count(store))
    }
    #expect(steps > 2 && resealed == 400 && last.retired == [old])
    #expect(store.info().keys.first { $0.name == name }?.generations == [new])
    #expect(try store.countSealedValues().counts[new] == 401)
    for note in notes { #expect(try store.get(Note.self, note.id)?.body == note.body) }
    try store.close()
    let again = try Self.open(disk)
    #expect(try again.get(Note.self, notes[7].id)?.body == "body 7")
    try again.close()
    #expect(try Store.verify(in: disk, unlocking: TemporaryFolder.key).findings.isEmpty)
  }

  /// The attacker extracted the old key, and has the store and every backup made later.
  @Test
  func `after a rotation and a purge the old key opens nothing in the store, nor in a backup made then`()
    throws
  {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    try store.putAll((0..<300).map { Note(title: "title \($0)", body: "body \($0)") })
    let old = try #require(store.info().keys.first { $0.name == "personal" }).number
    /// The frames in which a value under the old key lies, whatever they are worth.
    func frames(_ disk: SimulatedDisk, under key: UInt32) throws -> Int {
      var count = 0
      try Store.forEachPiece(in: disk) { piece in
        guard piece.kind == .record, piece.collection != 0, let bytes = disk.contents(piece.file) else {
          return
        }
        let frame = bytes[(piece.offset + 40)..<(piece.offset + piece.byteCount)]
        // An envelope, if there is one, comes before the body: the body begins with its layout, and a field
        // count of three.
        for start in frame.indices.dropLast(40) where Array(frame[start..<start + 4]) == [1, 0, 3, 0] {
          let entry = Array(frame[(start + 4 + 24)..<(start + 4 + 36)])
          if entry[0] == 3, UInt32(entry[4]) | UInt32(entry[5]) << 8 == key { count += 1 }
        }
      }
      return count
    }
    #expect(try frames(disk, under: old) >= 300)
    let step = try store.rotate("personal")
    #expect(step.isFinished)
    #expect(try frames(disk, under: old) >= 300, "what is dead is there until it is purged")
    try store.purge()
    #expect(try frames(disk, under: old) == 0)
    #expect(try frames(disk, under: step.generation) == 300)
    let backup = SimulatedDisk()
    _ = try Shipper(disk, to: backup.archive).ship()
    let restored = SimulatedDisk()
    _ = try Store.restore(backup.archive, to: restored)
    #expect(try frames(restored, under: old) == 0)
    #expect(try frames(restored, under: step.generation) == 300)
    try store.close()
  }

  @Test func `a crash at any call of a rotation leaves every value readable, and it goes on`() throws {
    let disk = SimulatedDisk()
    let created = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let notes = (0..<90).map { Note(title: "title \($0)", body: "body \($0)") }
    try created.putAll(notes)
    let large = Letter(subject: "large", scan: noise(200_000))
    try created.putAll([large])
    try created.close()
    let store = try Self.open(disk)
    let start = disk.callCount
    while try !store.rotate("personal", .bytes(4_000)).isFinished {}
    while try !store.rotate("default", .bytes(100_000)).isFinished {}
    let calls = start..<disk.callCount
    var (tried, old) = (0, 0)
    for (index, call) in disk.crashPoints.filter(calls.contains).enumerated() {
      let loss = LossModel.allCases[index % LossModel.allCases.count]
      let image = disk.crashImage(after: call, loss, seed: UInt64(call))
      let place = "after \(disk.describe(call: call)), \(loss)"
      let store = try Self.open(image)
      for note in notes { #expect(try store.get(Note.self, note.id)?.body == note.body, "\(place)") }
      #expect(try store.get(Letter.self, large.id)?.scan == large.scan, "\(place)")
      #expect(try store.countSealedValues().counts == Self.count(store), "\(place)")
      old += store.info().keys.contains { $0.generations.count > 1 } ? 1 : 0
      tried += 1
      if index % 7 == 0 {
        for name in ["personal", "default"] { while try !store.rotate(name).isFinished {} }
        for note in notes { #expect(try store.get(Note.self, note.id)?.body == note.body, "\(place)") }
      }
      try store.close()
    }
    #expect(tried >= 60 && old > 0)
  }

  @Test func `large values are sealed anew too, chunk by chunk`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letters = [
      Letter(subject: "large", scan: noise(700_000), text: String(repeating: "compressed ", count: 20_000)),
      Letter(subject: "small", scan: [1, 2, 3]),
    ]
    try store.putAll(letters)
    let old = try #require(store.info().keys.first { $0.name == "default" }).number
    let before = try #require(try store.countSealedValues().counts[old])
    let step = try store.rotate("default")
    #expect(step.isFinished && step.resealedCount == before)
    #expect(try store.countSealedValues().counts[step.generation] == before)
    #expect(store.vault.keyring.dataKey(KeyReference(rawValue: old)) == nil)
    for isPurged in [false, true] {
      if isPurged { try store.purge() }
      for letter in letters {
        let entry = try #require(try store.get(Letter.self, letter.id))
        #expect(try entry.scan == letter.scan && entry.text == letter.text && entry.subject == letter.subject)
      }
    }
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).findings.isEmpty)
  }

  @Test func `a generation stays while a snapshot or a damaged value needs it`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let note = Note(title: "title", body: "body")
    try store.putAll([note])
    do {
      let snapshot = store.snapshot()
      let step = try store.rotate("personal")
      #expect(!step.isFinished && step.obstacle != nil && step.resealedCount == 1)
      #expect(try snapshot.get(Note.self, note.id)?.body == "body")
    }
    #expect(try store.rotate("personal").isFinished)
    try store.close()
  }

  @Test func `a batch that was sealed before a rotation began is refused, and putAll seals it anew`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([Note(title: "first", body: "first")])
    var batch = try store.batch(of: Note.self)
    try batch.put(Note(title: "early", body: "early"))
    #expect(try store.rotate("personal").isFinished)
    #expect(throws: NotelogError(.conflict, "")) { try batch.commit() }
    batch.removeAll()
    try batch.put(Note(title: "again", body: "again"))
    try batch.commit()
    let counts = try store.countSealedValues().counts
    #expect(counts.count == 2 && counts.values.allSatisfy { $0 == 2 })
    try store.close()
  }

  /// INV-K6: counts are exact, whatever was done before, in whatever order, and wherever the machine went
  /// down in a step of a rotation.
  @Test func `counts equal those of reading record after record, whatever was rotated, changed and cut off`()
    throws
  {
    let seeds = TestEffort.sample(UInt64(0)..<1_000, 20)
    var crashCount = 0
    for seed in seeds {
      var random = SeededGenerator(seed: seed)
      var disk = SimulatedDisk()
      var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
      var ids: [RecordID] = []
      for _ in 0..<25 {
        switch Int.random(in: 0..<8, using: &random) {
        case 0, 1:
          let notes = (0..<Int.random(in: 1...12, using: &random)).map {
            Note(title: "t\($0)", body: "b\($0)")
          }
          try store.putAll(notes)
          ids += notes.map(\.id)
        case 2:
          guard let id = ids.randomElement(using: &random) else { continue }
          try store.write { tx in try tx.update(Note.self, id) { $0.set(\.title, "changed") } }
        case 3:
          guard let index = ids.indices.randomElement(using: &random) else { continue }
          try store.write { tx in _ = try tx.delete(Note.self, ids[index]) }
          ids.remove(at: index)
        case 4, 5:
          guard !store.info().keys.isEmpty else { continue }
          let name = Bool.random(using: &random) ? "personal" : "default"
          let start = disk.callCount
          try store.rotate(name, .bytes(Int.random(in: 1...600, using: &random)))
          // Every second time the machine went down meanwhile; a rotation changes no record, so all of them
          // are there.
          let calls = disk.crashPoints.filter { $0 >= start }
          guard Bool.random(using: &random), let call = calls.randomElement(using: &random) else { break }
          let loss = LossModel.allCases[Int.random(in: 0..<LossModel.allCases.count, using: &random)]
          let image = disk.crashImage(after: call, loss, seed: seed)
          try store.close()
          (disk, store) = (image, try Self.open(image))
          crashCount += 1
        case 6:
          try store.compact()
        default:
          try store.close()
          store = try Self.open(disk)
        }
        #expect(try store.countSealedValues().counts == Self.count(store), "seed \(seed)")
        for id in ids { #expect(try store.get(Note.self, id)?.body.first == "b", "seed \(seed)") }
      }
      #expect(try store.query(Note.self).count() == ids.count)
      try store.close()
    }
    #expect(crashCount >= seeds.count)
    if TestEffort.isSoak { print("\(seeds.count) seeds, \(crashCount) crashes in steps of rotations") }
  }

  @Test func `a record that changes after it was found to be sealed anew keeps the change`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let note = Note(title: "before", body: "before")
    try store.putAll([note])
    try store.beginRotation(of: "personal")
    let key = try store.namedKey("personal")
    let ended = DispatchSemaphore(value: 0)
    let resealedCount = Lock<Int?>(nil)
    try store.write { tx in
      Thread {
        var resealing = Resealing(store, key, .bytes(1 << 30))
        var progress = RotationProgress()
        var step = RotationStep(generation: key.current.rawValue)
        if (try? resealing.run(&progress, &step)) != nil {
          resealedCount.withLock { $0 = step.resealedCount }
        }
        ended.signal()
      }.start()
      // By now it has found what is committed, and waits for the turn.
      #expect(ended.wait(timeout: .now() + 0.5) == .timedOut)
      try tx.update(Note.self, note.id) { $0.set(\.body, "after") }
    }
    ended.wait()
    #expect(resealedCount.withLock { $0 } == 0)
    #expect(try store.get(Note.self, note.id)?.body == "after")
    try store.close()
  }

  private struct UnderOneKey: Record {
    var id = RecordID()
    var scan: [UInt8] = []
    static let schema = Schema<UnderOneKey>("scan") { Sealed("scan", \.scan, key: "one") }
  }

  private struct UnderAnother: Record {
    var id = RecordID()
    var scan: [UInt8] = []
    static let schema = Schema<UnderAnother>("scan") { Sealed("scan", \.scan, key: "another") }
  }

  /// Goes on with the rotation of a key until nothing is found any more.
  private static func resealAll(_ store: Store, _ name: String) throws {
    let key = try store.namedKey(name)
    var resealing = Resealing(store, key, .bytes(1 << 30))
    var progress = RotationProgress()
    var step = RotationStep(generation: key.current.rawValue)
    try resealing.run(&progress, &step)
    #expect(progress.failed.isEmpty)
  }

  /// The bug: a large value was sealed anew under the key that its field had before; its record was left as
  /// it was, in a segment that was not looked at again.
  @Test func `a field that is given another key while a large value is sealed anew is under that at once`()
    throws
  {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let scan = UnderOneKey(scan: noise(700_000))
    try store.putAll([scan])
    // Its segment is finished.
    try store.putAll((0..<200).map { Note(title: "title \($0)", body: "body \($0)") })
    try store.createKey("another", .whenUnlocked)
    let old = try #require(store.info().keys.first { $0.name == "one" }).number
    try store.beginRotation(of: "one")
    let hasWritten = Flag(false)
    disk.afterEachCall { call, name in
      // When the first chunks have been committed, and the next one is read.
      guard name.hasSuffix(".journal") else { return }
      if call == .write { _ = hasWritten.exchange(true) }
      guard call == .read, hasWritten.isSet else { return }
      disk.afterEachCall(nil)
      do { try store.putAll([UnderAnother(scan: [1])]) } catch { Issue.record(error) }
    }
    try Self.resealAll(store, "one")
    let counts = try store.countSealedValues().counts
    let another = try #require(try store.keyReference("another"))
    #expect(counts[old] == nil && counts[another] == 2)
    #expect(try store.get(UnderAnother.self, scan.id)?.scan == scan.scan)
    try store.close()
  }

  /// The head is looked at up to where it ended when that began; then it is finished meanwhile.
  @Test func `what comes into the head while it is looked through is sealed anew too`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Self.small)
    let notes = (0..<400).map { Note(title: "title \($0)", body: "body \($0)") }
    try store.putAll(notes)
    let old = try #require(store.info().keys.first { $0.name == "personal" }).number
    try store.beginRotation(of: "personal")
    let head = try #require(store.journal.catalog.segments.all.last)
    let isFinished = Flag(false)
    disk.afterEachCall { call, name in
      guard call == .read, name == FileName.segment(head.number) else { return }
      disk.afterEachCall(nil)
      do {
        // Its body stays under the old generation.
        try store.write { tx in try tx.update(Note.self, notes[0].id) { $0.set(\.title, "changed") } }
        try store.putAll((0..<200).map { Note(title: "later \($0)", body: "later \($0)") })
      } catch { Issue.record(error) }
      _ = isFinished.exchange(store.journal.catalog.segments[head.number]?.isFinished == true)
    }
    try Self.resealAll(store, "personal")
    #expect(isFinished.isSet)
    #expect(try store.countSealedValues().counts[old] == nil)
    #expect(try store.get(Note.self, notes[0].id)?.body == "body 0")
    try store.close()
  }

  @Test func `rotation goes on beside four writers, and loses nothing of theirs`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = (0..<2_000).map { Note(title: "title \($0)", body: "body \($0)") }
    try store.putAll(notes)
    let written = Lock<[RecordID: String]>([:])
    // What the notes that were there have last; each is changed by one of the writers only.
    let changed = Lock(notes)
    let isDone = Flag(false)
    try Threads.run(5) { thread in
      do {
        if thread == 4 {
          defer { _ = isDone.exchange(true) }
          for _ in 0..<3 {
            while try !store.rotate("personal", .bytes(30_000)).isFinished { if isDone.isSet { return } }
          }
          return
        }
        var round = 0
        while !isDone.isSet {
          round += 1
          let note = Note(title: "t", body: "\(thread) \(round)")
          try store.putAll([note], .buffered)
          let number = (round * 4 + thread) % notes.count
          let (title, body) = ("\(round)", "\(thread) of \(round)")
          try store.write(.buffered) { tx in
            try tx.update(Note.self, notes[number].id) {
              $0.set(\.title, title)
              if round.isMultiple(of: 2) { $0.set(\.body, body) }
            }
          }
          changed.withLock { notes in
            notes[number].title = title
            if round.isMultiple(of: 2) { notes[number].body = body }
          }
          written.withLock { $0[note.id] = note.body }
        }
      } catch {
        _ = isDone.exchange(true)
        throw error
      }
    }
    for note in changed.withLock({ $0 }) {
      let entry = try store.get(Note.self, note.id)
      #expect(try entry?.body == note.body && entry?.title == note.title)
    }
    for (id, body) in written.withLock({ $0 }) { #expect(try store.get(Note.self, id)?.body == body) }
    #expect(try store.rotate("personal").generation >= 4)
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).findings.isEmpty)
  }
}
