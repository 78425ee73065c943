// The examples of the article "Concurrency and durability", line for line.

import Foundation
import Notelog
import Testing

private struct Measurement: Record {
  var id = RecordID()
  var reading = 0.0
  static let schema = Schema<Measurement>("measurement") { Sealed("reading", \.reading) }
}

private struct Picture: Record {
  var id = RecordID()
  var title = ""
  var scan: [UInt8] = []
  static let schema = Schema<Picture>("picture") {
    Sealed("title", \.title)
    Sealed("scan", \.scan)
  }
}

@Suite struct ConcurrencyArticle {
  @Test func `the article's example for undo of a long value brings it back`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let id = RecordID()
    let byteCount = Limits.recordBytes + 100_000
    var left = byteCount
    let first = try store.upload(to: \Picture.scan, of: id) { buffer in
      let count = min(left, buffer.byteCount)
      if count > 0 { buffer.storeBytes(of: UInt8(truncatingIfNeeded: left >> 16), as: UInt8.self) }
      left -= count
      return count
    }
    try store.write { tx in
      try tx.put(Picture(id: id, title: "long"))
      try tx.update(Picture.self, id) { $0.set(\.scan, first) }
    }
    let before = store.snapshot()
    try store.write { tx in try tx.delete(Picture.self, id) }
    #expect(throws: NotelogError(.limitExceeded, "")) { try before.get(Picture.self, id)?.record() }
    if let old = try before.get(Picture.self, id), let content = try old.content(of: \.scan) {
      let title = try old.title
      var place = 0
      let scan = try store.upload(to: \Picture.scan, of: id) { buffer in
        let piece = try content.read(place..<min(place + buffer.byteCount, content.byteCount))
        for (offset, byte) in piece.enumerated() {
          buffer.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
        }
        place += piece.count
        return piece.count
      }
      try store.write { tx in
        try tx.put(Picture(id: id, title: title))
        try tx.update(Picture.self, id) { $0.set(\.scan, scan) }
      }
    }
    let back = try #require(try store.get(Picture.self, id))
    let content = try #require(try back.content(of: \.scan))
    #expect(try back.title == "long" && content.byteCount == byteCount)
    let was = try #require(try before.get(Picture.self, id)?.content(of: \.scan))
    for start in stride(from: 0, to: byteCount, by: 1 << 20) {
      let range = start..<min(start + (1 << 20), byteCount)
      #expect(try content.read(range) == was.read(range))
    }
  }

  @Test func `the article's examples for threads do what it says`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let measurements = (0..<10).map { Measurement(reading: Double($0)) }
    let id = measurements[0].id
    try store.putAll(measurements, .flushed)
    let seen = try #require(try store.get(Measurement.self, id)).revision
    try store.write { tx in
      try tx.update(Measurement.self, id, if: .revision(seen)) { $0.set(\.reading, 2) }
    }
    #expect(throws: NotelogError(.conflict, "")) {
      try store.write { tx in
        try tx.update(Measurement.self, id, if: .revision(seen)) { $0.set(\.reading, 3) }
      }
    }
    let before = store.snapshot()
    try store.write { tx in try tx.delete(Measurement.self, id) }
    let old = try before.get(Measurement.self, id)
    #expect(try old?.reading == 2)
  }

  @Test func `the article's example for undo brings a record back, and needs its key`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let id = RecordID()
    try store.putAll([Measurement(id: id, reading: 2)])
    let before = store.snapshot()
    try store.write { tx in try tx.delete(Measurement.self, id) }
    if let old = try before.get(Measurement.self, id)?.record() {
      try store.write { tx in try tx.put(old) }
    }
    #expect(try store.get(Measurement.self, id)?.reading == 2)
    store.lock()
    try store.write { tx in try tx.delete(Measurement.self, id) }
    #expect(throws: NotelogError(.locked, "")) { try before.get(Measurement.self, id)?.record() }
    try store.unlock(TemporaryFolder.key)
    #expect(try before.get(Measurement.self, id)?.record().reading == 2)
  }

  @Test func `the article's examples for older versions list them, and take the last change back`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let id = RecordID()
    try store.putAll([Measurement(id: id, reading: 2)])
    try store.write { tx in try tx.delete(Measurement.self, id) }
    for version in try store.versions(of: id) where !version.isDeletion {
      let entry = try store.get(Measurement.self, id, revision: version.revision)
      print(version.revision, try entry?.reading ?? 0)
    }
    let undone = try store.undoLast()
    print(undone.restored, undone.removed)
    #expect(undone.restored == [id] && undone.removed.isEmpty)
    #expect(try store.get(Measurement.self, id)?.reading == 2)
  }

  @Test func `the article's example for looking after a store does what it says`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<10).map { Measurement(reading: Double($0)) }, .flushed)
    var position: Int?
    let step = try store.scrub(from: position, .bytes(64 << 20))
    position = step.next
    #expect(position == nil && step.findings.isEmpty)
  }

  @Test func `the article's examples for tasks do what it says`() async throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let observed = Task {
      var (refreshed, removed) = (0, 0)
      func refresh(_ id: RecordID) { refreshed += 1 }
      func remove(_ id: RecordID) { removed += 1 }
      func reload() { Issue.record("nobody fell behind") }
      for await changes in store.changes(of: Measurement.self) {
        guard changes.isComplete else {
          reload()
          continue
        }
        for id in changes.written { refresh(id) }
        for id in changes.deleted { remove(id) }
      }
      return (refreshed, removed)
    }
    let shown = Task {
      var last = 0
      func show(_ entries: [Entry<Measurement>]) { last = entries.count }
      for try await update in store.query(Measurement.self).sorted(by: \.reading).updates() {
        show(update.entries)
      }
      return last
    }
    let backups = try TemporaryFolder()
    let (path, archive) = (folder.path, FolderArchive(path: backups.path))
    let count = try await store.run { try $0.query(Measurement.self).count() }
    try await store.write { tx in try tx.put(Measurement(reading: Double(count))) }
    let summary = try await store.run { try $0.ship(to: archive) }
    let verdict = try await Store.run { try Store.verify(at: path).verdict }
    #expect(try store.query(Measurement.self).count() == 1)
    #expect(verdict == .sound)
    #expect(summary.findings.isEmpty)
    try await store.close()
    #expect(await observed.value.1 == 0)
    // Asked for the first time when the store was closed, or before.
    #expect((try? await shown.value) ?? 0 <= 1)
  }
}
