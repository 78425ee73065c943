// An id is one record's in the whole store, whatever is written and by whom: FORMAT.md INV-F3.

import Foundation
import NotelogBase
@testable import Notelog
import NotelogStorage
import NotelogTestSupport
import Testing

private struct Album: Record {
  var id = RecordID()
  var title = ""
  static let schema = Schema<Album>("album") { Plain("title", \.title, indexed: true) }
}

private struct Artist: Record {
  var id = RecordID()
  var name = ""
  static let schema = Schema<Artist>("artist") { Sealed("name", \.name) }
}

@Suite struct UniqueIDTests {
  /// That a transaction is refused, and says which types want one id.
  private static func expectRefusal(
    of id: RecordID, _ types: [String] = ["album", "artist"], _ body: () throws -> Void
  ) {
    do {
      try body()
      Issue.record("two types share an id")
    } catch let error as NotelogError {
      #expect(error.code == .alreadyExists && error.record == id)
      for word in types + ["\(id)"] { #expect(error.message.contains(word), "\(error)") }
    } catch { Issue.record(error) }
  }

  /// The bug: only what was committed before was looked at; of two records of one transaction the second
  /// replaced the first.
  @Test func `two records of one transaction don't share an id`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let id = RecordID()
    for round in 0..<2 {
      Self.expectRefusal(of: id) {
        try store.write { tx in
          try tx.put(Album(id: id), if: .absent)
          try tx.put(Artist(id: id), if: .absent)
        }
      }
      // Deleted in the same transaction it is not free either.
      Self.expectRefusal(of: id) {
        try store.write { tx in
          try tx.put(Album(id: id))
          _ = try tx.delete(Album.self, id)
          try tx.put(Artist(id: id))
        }
      }
      #expect(try store.query(Album.self).count() == round && store.query(Artist.self).count() == 0)
      // The first time both types were new.
      try store.putAll([Album(title: "beside it")])
    }
    let things = try store.createCollection(
      "thing", fields: [FieldDescription(name: "text", type: .text, isOptional: true)])
    Self.expectRefusal(of: id, ["album", "thing"]) {
      try store.write { tx in
        try tx.put(in: things, id, [:])
        try tx.put(Album(id: id))
      }
    }
    try store.write { tx in
      try tx.put(Album(id: id, title: "first"))
      try tx.put(Album(id: id, title: "second"))
      try tx.put(Artist(name: "beside it"))
    }
    #expect(try store.get(Album.self, id)?.title == "second")
    Self.expectRefusal(of: id, ["album", "thing"]) {
      try store.write { tx in _ = try tx.put(in: things, id, [:]) }
    }
    Self.expectRefusal(of: id) { try store.putAll([Artist(), Artist(id: id)]) }
    #expect(try store.get(Album.self, id)?.title == "second")
    try store.close()
  }

  /// The bug: a blind batch was compared with what was visible before its turn, and what was committed until
  /// then was overlooked.
  @Test(arguments: [false, true])
  func `of two threads that bring one id for two types, one is refused`(isLeased: Bool) throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    if isLeased { options.writing = .leased(idle: .seconds(60)) }
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try store.putAll([Album(title: "there")], .buffered)
    try store.putAll([Artist(name: "there")], .buffered)
    let batches = (0..<200).map { _ in (0..<10).map { _ in RecordID() } }
    let acknowledged = Lock(0)
    let arrived = Lock([Int](repeating: 0, count: batches.count))
    try Threads.run(4) { thread in
      for (number, ids) in batches.enumerated() {
        // All of them at the same time, or nearly so.
        arrived.withLock { $0[number] += 1 }
        while arrived.withLock({ $0[number] }) < 4 { Threads.yield() }
        do {
          switch thread {
          case 0: try store.putAll(ids.map { Album(id: $0) }, .buffered)
          case 1: try store.putAll(ids.map { Artist(id: $0) }, .buffered)
          case 2: try store.write(.buffered) { tx in for id in ids { try tx.put(Album(id: id)) } }
          default: try store.write(.buffered) { tx in for id in ids { try tx.put(Artist(id: id)) } }
          }
          acknowledged.withLock { $0 += 1 }
        } catch let error as NotelogError where error.code == .alreadyExists {}
      }
    }
    var counts = [0, 0]
    for ids in batches {
      let found = (
        try store.getMany(Album.self, ids).count { $0 != nil },
        try store.getMany(Artist.self, ids).count { $0 != nil }
      )
      #expect(found == (10, 0) || found == (0, 10))
      counts[found.0 == 10 ? 0 : 1] += 1
    }
    // Both threads of a type are acknowledged, or none: nobody's records are another type's now.
    #expect(acknowledged.withLock { $0 } == 2 * batches.count, "\(counts)")
    try store.close()
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test func `an id that another process has given a type is refused, and of one that it gave up any type's`()
    throws
  {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.writing = .leased(idle: .seconds(60))
    let first = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try first.putAll([Artist()])
    try first.suspend()
    let second = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let album = Album(title: "kept")
    try second.putAll([album])
    try second.suspend()
    Self.expectRefusal(of: album.id) { try first.putAll([Artist(id: album.id)]) }
    Self.expectRefusal(of: album.id) {
      try first.write { tx in _ = try tx.put(Artist(id: album.id), if: .absent) }
    }
    let before = first.snapshot()
    try first.write { tx in _ = try tx.delete(Album.self, album.id) }
    try first.putAll([Artist(id: album.id, name: "new")])
    // A snapshot has what there was, and whoever follows what there is.
    #expect(try before.get(Album.self, album.id)?.title == "kept" && before.get(Artist.self, album.id) == nil)
    #expect(try before.query(Album.self).count() == 1 && before.query(Artist.self).count() == 1)
    try first.suspend()
    try second.refresh()
    for store in [first, second] {
      #expect(try store.get(Album.self, album.id) == nil && store.get(Artist.self, album.id)?.name == "new")
      #expect(try store.query(Album.self).count() == 0 && store.query(Artist.self).count() == 2)
      #expect(try store.query(Album.self).where(\.title, is: "kept").entries().isEmpty)
    }
    try second.close()
    try first.resume()
    try first.compact()
    try first.close()
    let target = try TemporaryFolder()
    let saved = try Store.salvage(from: folder.path, to: target.path)
    #expect(saved.lossCount == 0)
    for path in [folder.path, target.path] {
      let store = try Store.open(at: path, unlocking: TemporaryFolder.key)
      #expect(try store.get(Album.self, album.id) == nil && store.get(Artist.self, album.id)?.name == "new")
      try store.close()
      #expect(try Store.verify(at: path, unlocking: TemporaryFolder.key).verdict == .sound)
    }
  }

  /// Who can write the files, or an older version, gives an id to several types all the same: then its newest
  /// frame counts, and nothing traps.
  @Test(arguments: [false, true])
  func `of an id that several types have the newest frame counts`(inOneTransaction: Bool) throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let (album, artist) = (Album(title: "album"), Artist(name: "artist"))
    try store.write { tx in
      try tx.put(album)
      try tx.put(artist)
    }
    try store.close()
    // Album's number is 1.
    do {
      var options = JournalOptions()
      options.keepsCollections = false
      let journal = try Journal.open(in: SystemStorage(path: folder.path), options: options)
      var batch = Batch()
      if inOneTransaction { batch.delete(artist.id.bytes, collection: 2) }
      var read = ReadBuffer()
      _ = try journal.records.read(album.id.bytes, into: &read)
      let (envelope, body) = (read.envelope.array(), read.body.array())
      batch.put(artist.id.bytes, collection: 1, envelopeByteCount: envelope.count, bodyByteCount: body.count)
      {
        $0.copy((envelope + body).rawSpan)
      }
      _ = try journal.commit(&batch)
      try journal.close()
    }
    for _ in 0..<2 {
      store = try folder.open()
      #expect(try store.get(Artist.self, artist.id) == nil && store.query(Artist.self).count() == 0)
      #expect(try store.get(Album.self, artist.id)?.title == "album")
      #expect(try Set(store.query(Album.self).entries().map(\.id)).isSuperset(of: [album.id, artist.id]))
      Self.expectRefusal(of: artist.id) { try store.putAll([artist]) }
      try store.compact()
      try store.close()
      #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
    }
  }

  @Test func `an id made of a name and a primary key is always the same, and that of nothing else`() throws {
    let album = try RecordID(of: 17, in: "album")
    #expect("\(album)" == "225dcd79469ea0b3c2c879417fa069f9")
    #expect("\(try RecordID(of: "17", in: "album"))" == "114228919ce0ced72865c6c13e84907f")
    #expect("\(try RecordID(of: 17, in: "artist"))" == "06cc5adafac10e7caff08aab84c6ddc0")
    #expect("\(try RecordID(of: -1, in: "album"))" == "235c47d2686a2d3dcd2b9e18d65cce7b")
    #expect(
      try RecordID(of: UInt8(17), in: "album") == album && RecordID(of: Int64(17), in: "album") == album)
    #expect(try RecordID(of: "a", in: "bc") != RecordID(of: "ab", in: "c"))
  }
}
