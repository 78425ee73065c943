// Values too long for their record: sealed in chunks, streamed, read by range, and bound to where they
// belong.

@testable import NotelogBase
import NotelogStorage
import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

struct Letter: Record {
  var id = RecordID()
  var time = Date(timeIntervalSinceReferenceDate: 0)
  var subject = ""
  var scan: [UInt8] = []
  var back: [UInt8] = []
  var copy: Data?
  var text = ""
  static let schema = Schema<Letter>("letter") {
    Plain("time", \.time, indexed: true)
    Sealed("subject", \.subject)
    Sealed("scan", \.scan)
    Sealed("back", \.back)
    Sealed("copy", \.copy, key: "other")
    Sealed("text", \.text, compressed: true)
  }
}

/// Fields that nothing can be streamed into.
private struct Parcel: Record {
  var id = RecordID()
  var padded: [UInt8] = []
  var compressed: [UInt8] = []
  var plain: [UInt8] = []
  var text = ""
  static let schema = Schema<Parcel>("parcel") {
    Sealed("padded", \.padded, padded: true)
    Sealed("compressed", \.compressed, compressed: true)
    Plain("plain", \.plain)
    Sealed("text", \.text)
  }
}

/// Bytes that don't compress, and that a test can make again.
func noise(_ byteCount: Int, seed: UInt64 = 1) -> [UInt8] {
  var random = SeededGenerator(seed: seed)
  return random.bytes(count: byteCount)
}

@Suite struct AttachmentTests {
  /// Lengths around those at which chunks begin and end.
  static let lengths = [0, 1, 30, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073, 300_000]

  private func isChunked(_ entry: Entry<Letter>, _ number: UInt16) throws -> Bool {
    try #require(try entry.stored.find(number)).flags.contains(.chunked)
  }

  private func upload(_ bytes: [UInt8], of id: RecordID, to store: Store, piece: Int = 10_000) throws
    -> Upload<Letter>
  {
    var offset = 0
    return try store.upload(to: \Letter.scan, of: id) { buffer in
      let count = min(piece, min(buffer.byteCount, bytes.count - offset))
      buffer.copy(bytes.rawSpan.extracting(offset..<offset + count), at: 0)
      offset += count
      return count
    }
  }

  private func all(_ content: FieldContent) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try content.forEachPiece { bytes += $0 }
    return bytes
  }

  @Test(arguments: lengths)
  func `INV-V2 a value over 64 KiB leaves its record, and is what it was`(length: Int) throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let letter = Letter(
      subject: "one", scan: noise(length), copy: Data(noise(length, seed: 2)),
      text: noise(length / 2, seed: 3).map { String(UnicodeScalar(32 + $0 % 90)) }.joined())
    try store.write { tx in try tx.put(letter) }
    for round in 0..<3 {
      let entry = try #require(try store.get(Letter.self, letter.id))
      #expect(try isChunked(entry, 3) == (length > 65_536))
      // The presence byte of an optional value counts.
      #expect(try isChunked(entry, 5) == (length + 1 > 65_536))
      #expect(entry.stored.body.count < 2 * 65_700 + 65_700 + 1_000)
      let back = try entry.record()
      #expect(back.scan == letter.scan && back.copy == letter.copy && back.text == letter.text)
      #expect(try all(try #require(try entry.content(of: \.scan))) == letter.scan)
      #expect(try all(try #require(try entry.content(of: \.copy))) == [UInt8](letter.copy ?? Data()))
      #expect(try all(try #require(try entry.content(of: \.text))) == Array(letter.text.utf8))
      if round == 1 { try store.compact() }
      try store.close()
      store = try folder.open()
    }
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).verdict == .sound)
  }

  @Test(arguments: lengths)
  func `a value is streamed in, and streamed out or read by range`(length: Int) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let bytes = noise(length)
    let letter = Letter(subject: "streamed")
    let upload = try upload(bytes, of: letter.id, to: store)
    #expect(upload.byteCount == length)
    try store.write { tx in
      try tx.put(letter)
      try tx.update(Letter.self, letter.id) { $0.set(\.scan, upload) }
    }
    let entry = try #require(try store.get(Letter.self, letter.id))
    #expect(try isChunked(entry, 3) == (length > 65_536))
    #expect(try entry.subject == "streamed" && entry.scan == bytes)
    let content = try #require(try entry.content(of: \.scan))
    #expect(content.byteCount == length)
    #expect(try all(content) == bytes)
    var random = SeededGenerator(seed: 9)
    for _ in 0..<20 where length > 0 {
      let start = Int.random(in: 0..<length, using: &random)
      let end = Int.random(in: start..<length + 10, using: &random)
      #expect(try content.read(start..<end) == Array(bytes[start..<min(end, length)]))
    }
    if length > 0 {
      #expect(throws: CancellationError.self) {
        try content.forEachPiece { _ in throw CancellationError() }
      }
    }
    let dynamic = try #require(try store.collection("letter").get(letter.id))
    #expect(try all(try #require(try dynamic.content(of: "scan"))) == bytes)
    #expect(try entry.content(of: \.copy) == nil)
    store.lock()
    if length > 0 { #expect(throws: NotelogError(.locked, "")) { try content.read(0..<1) } }
  }

  @Test func `a short field beside a long one is opened alone, with little read`() throws {
    let folder = try TemporaryFolder()
    let storage = CountingStorage(SystemStorage(path: folder.path))
    try SystemStorage(path: folder.path).makeStoreFolder()
    var store = try Store.create(in: storage, unlocking: TemporaryFolder.key, options: Store.Options())
    let subject = "thirty bytes, no more, no less"
    let letter = Letter(subject: subject)
    let attachment = try upload(noise(10 << 20), of: letter.id, to: store)
    try store.write { tx in
      try tx.put(letter)
      try tx.update(Letter.self, letter.id) { $0.set(\.scan, attachment) }
    }
    for isReopened in [false, true] {
      if isReopened {
        try store.close()
        store = try Store.open(in: storage, unlocking: TemporaryFolder.key, options: Store.Options())
      }
      let before = (
        fields: store.metrics.fieldsOpened, bytes: store.metrics.bytesOpened, reads: storage.reads
      )
      let entry = try #require(try store.get(Letter.self, letter.id))
      #expect(try entry.subject == subject && subject.utf8.count == 30)
      #expect(store.metrics.fieldsOpened - before.fields == 1)
      #expect(store.metrics.bytesOpened - before.bytes == 30)
      #expect(storage.reads.byteCount - before.reads.byteCount < 65_536)
    }
    // A range opens the chunks that it touches.
    let entry = try #require(try store.get(Letter.self, letter.id))
    let before = store.metrics.bytesOpened
    _ = try entry.content(of: \.scan)?.read(100_000..<100_010)
    #expect(store.metrics.bytesOpened - before == 65_536)
  }

  @Test func `a locked store carries attachments over, bit for bit, through updates and compaction`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter(scan: noise(200_000), copy: Data(noise(90_000)))
    try store.write { tx in try tx.put(letter) }
    store.lock(.everything)
    for round in 1...3 {
      try store.write { tx in
        try tx.update(Letter.self, letter.id) {
          $0.set(\.time, Date(timeIntervalSinceReferenceDate: Double(round)))
        }
      }
      try store.compact()
      #expect(throws: NotelogError(.locked, "")) { try store.get(Letter.self, letter.id)?.scan }
    }
    #expect(try Store.verify(at: folder.path).verdict == .sound)
    try store.unlock(TemporaryFolder.key)
    let entry = try #require(try store.get(Letter.self, letter.id))
    #expect(try entry.scan == letter.scan && entry.copy == letter.copy)
    #expect(try entry.time == Date(timeIntervalSinceReferenceDate: 3))
    // Once the value is another, its chunks are dead.
    let with = store.info().byteCount
    try store.write { tx in
      try tx.update(Letter.self, letter.id) {
        $0.set(\.scan, [])
        $0.set(\.copy, nil)
      }
    }
    try store.compact()
    #expect(store.info().byteCount < with - 250_000)
  }

  @Test func `a transaction reads the attachments it wrote, and only the last of them stays`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var letter = Letter(scan: noise(100_000, seed: 1))
    let gone = Letter(scan: noise(100_000, seed: 4))
    try store.write { tx in
      try tx.put(letter)
      try tx.put(gone)
      #expect(try tx.get(Letter.self, letter.id)?.scan == letter.scan)
      letter.scan = noise(150_000, seed: 2)
      try tx.put(letter)
      try tx.update(Letter.self, letter.id) { draft in
        let scan = try draft.scan
        #expect(scan == letter.scan)
        draft.set(\.subject, "carried")
      }
      #expect(
        try tx.get(Letter.self, letter.id)?.content(of: \.scan)?.read(149_000..<150_000)
          == Array(letter.scan[149_000...]))
      try tx.delete(Letter.self, gone.id)
    }
    #expect(try store.get(Letter.self, letter.id)?.scan == letter.scan)
    try store.compact()
    #expect(try store.get(Letter.self, letter.id)?.scan == letter.scan)
    #expect(store.info().liveByteCount < 160_000)
    #expect(throws: CancellationError.self) {
      try store.write { tx in
        try tx.put(Letter(scan: noise(100_000)))
        throw CancellationError()
      }
    }
    try store.putAll([Letter(scan: noise(80_000, seed: 5)), letter])
    #expect(try store.get(Letter.self, letter.id)?.scan == letter.scan)
  }

  @Test func `an upload is for one field of one record`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letters = [Letter(), Letter()]
    try store.putAll(letters)
    let upload = try upload(noise(100_000), of: letters[0].id, to: store)
    func set(_ id: RecordID, _ body: @escaping (inout Draft<Letter>) -> Void) throws {
      try store.write { tx in try tx.update(Letter.self, id) { body(&$0) } }
    }
    #expect(throws: NotelogError(.invalidArgument, "")) { try set(letters[1].id) { $0.set(\.scan, upload) } }
    #expect(throws: NotelogError(.invalidArgument, "")) { try set(letters[0].id) { $0.set(\.copy, upload) } }
    // Set again after it was replaced, the value is still there: the upload keeps it.
    try set(letters[0].id) { $0.set(\.scan, upload) }
    try set(letters[0].id) { $0.set(\.scan, [1]) }
    try store.compact()
    try set(letters[0].id) { $0.set(\.scan, upload) }
    #expect(try store.get(Letter.self, letters[0].id)?.scan == noise(100_000))
    store.lock()
    #expect(throws: NotelogError(.locked, "")) { try self.upload([1], of: letters[0].id, to: store) }
  }

  @Test func `a field that can't be streamed into says why, before anything is read`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let parcel = Parcel()
    try store.write { tx in try tx.put(parcel) }
    func refusal<Value>(_ path: FieldKeyPath<Parcel, Value>) throws -> String {
      let error = #expect(throws: NotelogError.self) {
        try store.upload(to: path, of: parcel.id) { _ in
          Issue.record("read before it was refused")
          return 0
        }
      }
      #expect(error?.code == .invalidArgument)
      return try #require(error).message
    }
    let beginning = ": a value can't be streamed into a "
    #expect(
      try refusal(\.padded).hasSuffix(
        beginning + "padded field: set it to the whole value, or declare a field that isn't padded"))
    #expect(
      try refusal(\.compressed).hasSuffix(
        beginning + "compressed field: set it to the whole value, or declare a field that isn't compressed"))
    #expect(try refusal(\.plain).hasSuffix(beginning + "plain field: set it to the whole value"))
    #expect(
      try refusal(\.text).hasSuffix(
        beginning + "field of type text: set it to the whole value, or declare a field of bytes"))
    // Whole, it goes in.
    try store.write { tx in
      try tx.update(Parcel.self, parcel.id) { draft in
        draft.set(\.padded, noise(100_000))
        draft.set(\.compressed, noise(100_000))
      }
    }
    let entry = try #require(try store.get(Parcel.self, parcel.id))
    #expect(try entry.padded == noise(100_000) && entry.compressed == noise(100_000))
  }

  @Test func `an entry whose attachment was replaced says so once it is gone; a snapshot keeps it`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let letter = Letter(scan: noise(100_000))
    try store.write { tx in try tx.put(letter) }
    var snapshot: StoreSnapshot? = store.snapshot()
    let entry = try #require(try store.get(Letter.self, letter.id))
    try store.write { tx in try tx.update(Letter.self, letter.id) { $0.set(\.scan, noise(100_000, seed: 2)) }
    }
    try store.compact()
    #expect(try entry.scan == letter.scan)
    #expect(try snapshot?.get(Letter.self, letter.id)?.scan == letter.scan)
    snapshot = nil
    try store.compact()
    #expect(throws: NotelogError(.snapshotExpired, "")) { try entry.scan }
    #expect(try store.get(Letter.self, letter.id)?.scan == noise(100_000, seed: 2))
  }

  /// In the head a chunk that does not check is missing; in a finished segment its footer lists it.
  @Test(arguments: [false, true])
  func `a damaged chunk is that value's error, found by verify with or without a key`(isFinished: Bool) throws
  {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    // One letter fits in.
    if isFinished { options.segmentByteCount = 256 << 10 }
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let letters = [
      Letter(subject: "a", scan: noise(200_000, seed: 1)),
      Letter(subject: "b", scan: noise(200_000, seed: 2)),
    ]
    for letter in letters { try store.write { tx in try tx.put(letter) } }
    try store.close()
    // In the second chunk of the first letter.
    try folder.alter("000000000001.journal") { $0[5_500 + 70_000] ^= 1 }
    for credential in [nil, TemporaryFolder.key] {
      let found = try Store.verify(at: folder.path, unlocking: credential)
      #expect(found.verdict.isDamaged && found.findings.contains { $0.record == letters[0].id })
    }
    let told = Lock<[String]>([])
    options.observer = { event in
      if case .damageFound(let finding) = event { told.withLock { $0.append("\(finding)") } }
    }
    let again = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let entry = try #require(try again.get(Letter.self, letters[0].id))
    #expect(try entry.subject == "a")
    #expect(try entry.content(of: \.scan)?.read(0..<100) == Array(letters[0].scan[..<100]))
    #expect(again.damage.verdict == .sound)
    for _ in 0..<2 { #expect(throws: NotelogError(.damaged, "")) { try entry.scan } }
    // From then on the store knows: no record is lost.
    #expect(again.damage.verdict == .contained && again.damage.findings.count == 1)
    #expect(again.damage.findings.first?.record == letters[0].id)
    #expect(try again.get(Letter.self, letters[1].id)?.scan == letters[1].scan)
    try again.close()
    let events = told.withLock { $0 }
    let words =
      isFinished
      ? "a frame's content does not check" : "a record refers to a large value of which chunks are missing"
    #expect(events.count == 1 && events[0].hasPrefix(words + " (segment 1, offset "), "\(events)")
    #expect(events.allSatisfy { $0.hasSuffix(", record \(letters[0].id))") }, "\(events)")
  }
}
