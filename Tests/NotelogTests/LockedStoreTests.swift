// What a store does without any key: everything but open what is sealed.

@testable import NotelogBase
@testable import NotelogFormat
import Foundation
@testable import Notelog
import Testing

@Suite struct LockedStoreTests {
  /// The sealed values of a record as they lie in the store, those of large values' chunks included.
  private func sealed(_ entry: Entry<Letter>, in store: Store) throws -> [UInt16: [UInt8]] {
    var found: [UInt16: [UInt8]] = [:]
    var buffer = ReadBuffer()
    for field in try entry.stored.entries() where field.flags.contains(.sealed) {
      var bytes = entry.stored.body.rawSpan.extracting(field.range).array()
      if field.flags.contains(.chunked) {
        let known = ValueReference(bytes.rawSpan)
        let reference = try #require(known)
        for number in 0..<reference.chunkCount {
          let mark = try store.journal.readChunk(UInt32(number), of: reference.value, into: &buffer)
          #expect(mark?.number == UInt32(number))
          bytes += buffer.body.array()
        }
      }
      found[field.number] = bytes
    }
    return found
  }

  private func sealed(_ store: Store) throws -> [RecordID: [UInt16: [UInt8]]] {
    var found: [RecordID: [UInt16: [UInt8]]] = [:]
    for entry in try store.query(Letter.self).entries() { found[entry.id] = try sealed(entry, in: store) }
    return found
  }

  @Test
  func
    `a store that is never unlocked lists, sorts, updates, deletes, compacts and verifies; no sealed bit changes`()
    throws
  {
    let folder = try TemporaryFolder()
    var letters = (0..<40).map { number in
      Letter(
        time: Date(timeIntervalSinceReferenceDate: Double(number)), subject: "letter \(number)",
        scan: noise(number % 8 == 0 ? 150_000 : 100, seed: UInt64(number)),
        copy: number % 3 == 0 ? nil : Data([UInt8(number)]), text: String(repeating: "text ", count: number))
    }
    var store = try folder.create()
    try store.putAll(letters)
    let before = try sealed(store)
    #expect(before.values.allSatisfy { $0.count == 5 })
    try store.close()

    store = try folder.open(nil)
    #expect(!store.isUnlocked)
    let newest = try store.query(Letter.self).sorted(by: \.time, .descending).limit(5).entries()
    #expect(newest.map(\.id) == letters.reversed().prefix(5).map(\.id))
    #expect(
      try store.query(Letter.self).where(\.time, in: ...Date(timeIntervalSinceReferenceDate: 9)).count() == 10
    )
    for index in letters.indices {
      let time = Date(timeIntervalSinceReferenceDate: Double(1_000 - index))
      letters[index].time = time
      let id = letters[index].id
      try store.write(.flushed) { tx in
        if index % 4 == 1 {
          try tx.delete(Letter.self, id)
        } else {
          try tx.update(Letter.self, id) { $0.set(\.time, time) }
        }
      }
    }
    let kept = letters.enumerated().filter { $0.offset % 4 != 1 }.map(\.element)
    for body in [
      { try store.write { tx in try tx.update(Letter.self, kept[0].id) { $0.set(\.subject, "no") } } },
      { try store.write { tx in _ = try tx.put(Letter()) } },
      { _ = try store.query(Letter.self).filter(\.subject) { !$0.isEmpty }.count() },
      { _ = try store.query(Letter.self).sorted(by: \.subject).first() },
      { _ = try store.upload(to: \Letter.scan, of: kept[0].id) { _ in 0 } },
    ] as [() throws -> Void] {
      #expect(throws: NotelogError(.locked, "")) { try body() }
    }
    let backup = try TemporaryFolder()
    let restored = try TemporaryFolder()
    for _ in 0..<2 {
      try store.compact()
      #expect(try sealed(store) == before.filter { id, _ in kept.contains { $0.id == id } })
      try store.close()
      let found = try Store.verify(at: folder.path)
      #expect(found.verdict == .sound && found.openedCount == 0 && found.recordCount == kept.count)
      store = try folder.open(nil)
    }
    // Backed up and restored without a key, it is the same, to the bit of what is sealed.
    #expect(try store.ship(to: backup.archive).findings.isEmpty)
    #expect(try Store.restore(from: backup.archive, to: restored.path).findings.isEmpty)
    let copy = try restored.open(nil)
    #expect(try sealed(copy) == sealed(store))
    try copy.close()
    #expect(store.metrics.fieldsOpened == 0)
    let oldest = try store.query(Letter.self).sorted(by: \.time).limit(3).entries()
    #expect(oldest.map(\.id) == kept.reversed().prefix(3).map(\.id))
    try store.unlock(TemporaryFolder.key)
    for letter in kept {
      let back = try #require(try store.get(Letter.self, letter.id)).record()
      #expect(back.time == letter.time && back.subject == letter.subject && back.scan == letter.scan)
      #expect(back.copy == letter.copy && back.text == letter.text)
    }
  }
}
