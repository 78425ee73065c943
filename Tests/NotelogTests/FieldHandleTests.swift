// Fields looked up once, and the buffers that they are read into.

@testable import NotelogBase
import Foundation
@testable import Notelog
import Testing

private struct Before: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Before>("card") { Sealed("name", \.name) }
}

private struct After: Record {
  var id = RecordID()
  var name: String? = "nobody"
  var number = 7
  static let schema = Schema<After>("card") {
    Sealed("name", \.name)
    Sealed("number", \.number)
  }
}

@Suite struct FieldHandleTests {
  private func sample() -> Everything {
    Everything(
      flag: true, count: -3, small: 9, mask: 8, ratio: 0.5, narrow: 1.5, name: "Ada", raw: [1, 2],
      data: Data([3]),
      moment: Date(timeIntervalSinceReferenceDate: 99), uuid: UUID(), link: URL(filePath: "/tmp"),
      address: Address(street: String(repeating: "Long ", count: 50), number: 1),
      colour: Colour(red: 1, green: 2, blue: 3), perhaps: "maybe", secret: nil)
  }

  @Test func `a field reads what the record holds, whatever its type`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let record = sample()
    try store.write { tx in try tx.put(record) }
    var buffer = ValueBuffer()
    func read<Value: FieldValue>(
      _ path: any WritableKeyPath<Everything, Value> & Sendable, _ buffer: inout ValueBuffer
    ) throws -> Value? {
      try store.get(try store.field(path), of: record.id, using: &buffer)
    }
    #expect(try read(\.flag, &buffer) == true)
    #expect(try read(\.small, &buffer) == 9)
    #expect(try read(\.narrow, &buffer) == 1.5)
    #expect(try read(\.raw, &buffer) == [1, 2])
    #expect(try read(\.moment, &buffer) == record.moment)
    #expect(try read(\.uuid, &buffer) == record.uuid)
    #expect(try read(\.address, &buffer) == record.address)
    #expect(try read(\.colour, &buffer) == record.colour)
    #expect(try read(\.perhaps, &buffer) == "maybe")
    #expect(try read(\.secret, &buffer) == .some(nil))
    #expect(try store.get(Everything.self, record.id)?.record() == record)
  }

  @Test func `a buffer holds the value that was read last, and nothing of a record that is gone`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "first", body: String(repeating: "long ", count: 100))
    try store.write { tx in try tx.put(note) }
    let title = try store.field(\Note.title)
    var buffer = ValueBuffer()
    #expect(try store.read(try store.field(\Note.body), of: note.id, into: &buffer))
    let byteCount = buffer.bytes.byteCount
    #expect(byteCount == 500)
    #expect(try store.read(title, of: note.id, into: &buffer))
    let bytes = buffer.bytes.array()
    #expect(bytes == Array("first".utf8))
    #expect(try !store.read(title, of: RecordID(), into: &buffer))
    var isEmpty = buffer.bytes.isEmpty
    #expect(isEmpty)
    #expect(try store.read(title, of: note.id, into: &buffer))
    buffer.wipe()
    isEmpty = buffer.bytes.isEmpty
    #expect(isEmpty)
  }

  /// A buffer keeps the key it used last: one that was wiped since must not open anything, and must not stay
  /// in the way of the one that takes its place.
  @Test func `a locked key opens nothing through a buffer that used it, until it is unlocked again`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "secret")
    try store.write { tx in try tx.put(note) }
    let title = try store.field(\Note.title)
    let time = try store.field(\Note.time)
    var buffer = ValueBuffer()
    for _ in 0..<3 {
      #expect(try store.get(title, of: note.id, using: &buffer) == "secret")
      store.lock(.everything)
      #expect(throws: NotelogError(.locked, "")) { try store.read(title, of: note.id, into: &buffer) }
      let isEmpty = buffer.bytes.isEmpty
      #expect(isEmpty)
      #expect(try store.get(time, of: note.id, using: &buffer) == note.time)
      try store.unlock(TemporaryFolder.key)
    }
  }

  @Test func `many values come in the order of their ids, also where records are missing or asked for twice`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = (0..<200).map { Note(title: "title \($0)") }
    try store.putAll(notes)
    let title = try store.field(\Note.title)
    var buffer = ValueBuffer()
    var ids = notes.map(\.id).shuffled()
    ids.insert(RecordID(), at: 70)
    ids.append(ids[3])
    let expected = ids.map { id in notes.first { $0.id == id }?.title }
    var found: [String?] = []
    try store.getMany(title, of: ids, using: &buffer) { place, value in
      #expect(place == found.count)
      found.append(value)
    }
    #expect(found == expected)
    // Fewer than are looked up ahead, as many, and more.
    for count in [0, 1, 7, 8, 9, 15, 16, 17, 33] {
      var places: [Int] = []
      try store.readMany(title, of: Array(ids.prefix(count)), into: &buffer) { place, bytes in
        let value = bytes.array()
        #expect(value == expected[place].map { Array($0.utf8) })
        places.append(place)
      }
      #expect(places == Array(0..<count))
    }
  }

  /// Records are looked up ahead of the one that is read, and what was found is out of date by then.
  @Test func `what is written while many are read is seen in those that are further on`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    options.compaction = .whenAsked
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    var notes = (0..<400).map { Note(title: "title \($0)") }
    try store.putAll(notes)
    let title = try store.field(\Note.title)
    // What each was before, and where in the reading it was changed last.
    var before: [String?] = notes.map(\.title)
    var now = before
    var changed = [Int](repeating: -1000, count: notes.count)
    var buffer = ValueBuffer()
    var seen = (old: 0, new: 0)
    for round in 0..<2 {
      try store.getMany(title, of: notes.map(\.id), using: &buffer) { place, value in
        if value == now[place] {
          seen.new += changed[place] >= 0 ? 1 : 0
        } else {
          #expect(value == before[place] && place - changed[place] <= 8)
          seen.old += 1
        }
        for (step, target) in [place + 1, place + 6, place + 12, place + 40].enumerated()
        where target < notes.count && target % 5 == step {
          changed[target] = place
          before[target] = now[target]
          if target % 3 == 0 {
            now[target] = nil
            try store.write { tx in _ = try tx.delete(Note.self, notes[target].id) }
          } else {
            notes[target].title = "round \(round), at \(place)"
            now[target] = notes[target].title
            try store.write { tx in try tx.put(notes[target]) }
          }
        }
        if place % 60 == 0 { _ = try store.compact() }
      }
      changed = [Int](repeating: -1000, count: notes.count)
    }
    // Some of both, or nothing was looked up ahead.
    #expect(seen.old > 20 && seen.new > 20)
    for (note, value) in zip(notes, now) {
      #expect(try store.get(title, of: note.id, using: &buffer) == value)
    }
  }

  @Test
  func `a field that was looked up before the schema was stored, or before it changed, goes on to work`()
    throws
  {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let early = try store.field(\Before.name)
    var buffer = ValueBuffer()
    #expect(try store.get(early, of: RecordID(), using: &buffer) == nil)
    // Another collection takes the number that this one would have had.
    try store.write { tx in try tx.put(Note(title: "other")) }
    let card = Before(name: "Ada")
    try store.write { tx in try tx.put(card) }
    #expect(try store.get(early, of: card.id, using: &buffer) == "Ada")

    let name = try store.field(\After.name)
    let number = try store.field(\After.number)
    #expect(try store.get(name, of: card.id, using: &buffer) == "Ada")
    #expect(try store.get(number, of: card.id, using: &buffer) == 7)
    let other = After(name: nil, number: 8)
    try store.write { tx in try tx.put(other) }
    #expect(try store.get(name, of: card.id, using: &buffer) == "Ada")
    #expect(try store.get(name, of: other.id, using: &buffer) == .some(nil))
    #expect(try store.get(number, of: other.id, using: &buffer) == 8)
    try store.close()
    store = try folder.open()
    #expect(try store.get(try store.field(\After.number), of: other.id, using: &buffer) == 8)
  }

  @Test func `other fields of the record that was read last are opened without reading it again`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "title", body: "body")
    try store.write { tx in try tx.put(note) }
    let title = try store.field(\Note.title)
    let body = try store.field(\Note.body)
    var buffer = ValueBuffer()
    #expect(throws: NotelogError(.notFound, "")) { try buffer.open(body) }
    #expect(try store.read(title, of: note.id, into: &buffer))
    try store.write { tx in _ = try tx.delete(Note.self, note.id) }
    try buffer.open(body)
    var bytes = buffer.bytes.array()
    #expect(bytes == Array("body".utf8))
    try buffer.open(title)
    bytes = buffer.bytes.array()
    #expect(bytes == Array("title".utf8))
    #expect(try !store.read(title, of: note.id, into: &buffer))
    #expect(throws: NotelogError(.notFound, "")) { try buffer.open(body) }
  }

  @Test func `many are read by a field looked up before the schema was there, and none of another type`()
    throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let title = try store.field(\Note.title)
    let other = sample()
    try store.write { tx in try tx.put(other) }
    // So many that blocks of them are full, and in memory when they are read again.
    let notes = (0..<200).map { Note(title: "title \($0)", body: String(repeating: "body", count: 60)) }
    try store.putAll(notes)
    var buffer = ValueBuffer()
    for _ in 0..<3 {
      var found: [String?] = []
      try store.getMany(title, of: [other.id] + notes.map(\.id) + [other.id], using: &buffer) { _, value in
        found.append(value)
      }
      #expect(found == [nil] + notes.map(\.title) + [nil])
    }
    store.lock()
    #expect(throws: NotelogError(.locked, "")) {
      try store.readMany(title, of: notes.map(\.id), into: &buffer) { _, _ in }
    }
  }

  @Test func `after many records the last of them is in the buffer, and all its fields can be opened`() throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = (0..<40).map { Note(title: "title \($0)", body: String(repeating: "body", count: $0 * 20)) }
    try store.putAll(notes)
    let title = try store.field(\Note.title)
    let body = try store.field(\Note.body)
    var buffer = ValueBuffer()
    for _ in 0..<3 {
      for field in [title, body] {
        for count in [0, 1, 10, 40] {
          #expect(try store.read(title, of: notes[7].id, into: &buffer))
          try store.readMany(field, of: notes.prefix(count).map(\.id), into: &buffer) { _, _ in }
          let last = count == 0 ? notes[7] : notes[count - 1]
          try buffer.open(body)
          let opened = buffer.bytes.array()
          #expect(opened == Array(last.body.utf8))
          let missing = notes.prefix(count).map(\.id) + [RecordID()]
          try store.readMany(field, of: missing, into: &buffer) { _, _ in }
          #expect(throws: NotelogError(.notFound, "")) { try buffer.open(title) }
        }
      }
      #expect(try store.read(title, of: notes[30].id, into: &buffer))
      try buffer.open(body)
      let bytes = buffer.bytes.array()
      #expect(bytes == Array(notes[30].body.utf8))
    }
  }

  @Test func `a property that the schema doesn't name is no field`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.field(\Observed.changes) }
  }

  @Test func `opening through fields is counted like any other, and only what is read is opened`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "counted", body: "never")
    try store.write { tx in try tx.put(note) }
    var buffer = ValueBuffer()
    _ = try store.get(try store.field(\Note.title), of: note.id, using: &buffer)
    #expect(store.metrics.fieldsOpened == 1 && store.metrics.bytesOpened == 7)
  }

  @Test func `several threads read through one field`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let notes = (0..<300).map { Note(title: "title \($0)") }
    try store.putAll(notes)
    let title = try store.field(\Note.title)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<4 {
        group.addTask {
          var buffer = ValueBuffer()
          for note in notes.shuffled() {
            let found = try store.get(title, of: note.id, using: &buffer)
            #expect(found == note.title)
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(store.metrics.fieldsOpened == 1_200)
  }

  /// The bug: who read by a `Field` got the error, and the store's damage lacked it.
  @Test(arguments: [false, true])
  func `damage that a field meets is the store's damage, and names the record`(isOfHeader: Bool) throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let notes = (0..<5).map { _ in Note(title: (0..<100).map { _ in UUID().uuidString }.joined()) }
    try store.putAll(notes)
    try store.close()
    let id = Data(notes[2].id.bytes.array)
    try folder.alter("000000000001.journal") { bytes in
      guard let header = bytes.range(of: id)?.lowerBound else { return }
      bytes[isOfHeader ? header : header + 1_000] ^= 4
    }
    store = try folder.open()
    let title = try store.field(\Note.title)
    var buffer = ValueBuffer()
    var damaged: [RecordID] = []
    for note in notes {
      do {
        _ = try store.read(title, of: note.id, into: &buffer)
      } catch let error as NotelogError {
        #expect(error.code == .damaged && error.record == note.id)
        damaged.append(note.id)
      }
    }
    #expect(damaged == [notes[2].id])
    #expect(store.damage.findings.compactMap(\.record) == damaged)
  }
}
