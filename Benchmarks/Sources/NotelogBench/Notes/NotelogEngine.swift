// Our own store, through its public interface.
import CPeers
import Foundation
import Notelog

/// What the engine needs of a kind of note.
protocol StoredNote: Record {
  init(id: RecordID, time: Date, title: String, body: String)
  var time: Date { get set }
  var title: String { get set }
  var body: String { get set }
  // The key paths that the schema declares: one made through the protocol would be another.
  static var timePath: any KeyPath<Self, Date> & Sendable { get }
  static var titlePath: any KeyPath<Self, String> & Sendable { get }
  static var bodyPath: any KeyPath<Self, String> & Sendable { get }
}

/// A note as every engine stores it.
struct Note: StoredNote {
  var id: RecordID
  var time: Date
  var title: String
  var body: String

  init() { self.init(id: RecordID(), time: Date(timeIntervalSince1970: 0), title: "", body: "") }

  init(id: RecordID, time: Date, title: String, body: String) {
    self.id = id
    self.time = time
    self.title = title
    self.body = body
  }

  static let timePath: any KeyPath<Note, Date> & Sendable = \.time
  static let titlePath: any KeyPath<Note, String> & Sendable = \.title
  static let bodyPath: any KeyPath<Note, String> & Sendable = \.body
  static let schema = Schema<Note>("note") {
    Plain("time", \.time)
    Sealed("title", \.title)
    Sealed("body", \.body)
  }
}

/// A note whose time is indexed.
struct TimedNote: StoredNote {
  var id: RecordID
  var time: Date
  var title: String
  var body: String

  init() { self.init(id: RecordID(), time: Date(timeIntervalSince1970: 0), title: "", body: "") }

  init(id: RecordID, time: Date, title: String, body: String) {
    self.id = id
    self.time = time
    self.title = title
    self.body = body
  }

  static let timePath: any KeyPath<TimedNote, Date> & Sendable = \.time
  static let titlePath: any KeyPath<TimedNote, String> & Sendable = \.title
  static let bodyPath: any KeyPath<TimedNote, String> & Sendable = \.body
  static let schema = Schema<TimedNote>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body)
  }
}

/// A note that is compressed before it is sealed.
struct PackedNote: StoredNote {
  var id: RecordID
  var time: Date
  var title: String
  var body: String

  init() { self.init(id: RecordID(), time: Date(timeIntervalSince1970: 0), title: "", body: "") }

  init(id: RecordID, time: Date, title: String, body: String) {
    self.id = id
    self.time = time
    self.title = title
    self.body = body
  }

  static let timePath: any KeyPath<PackedNote, Date> & Sendable = \.time
  static let titlePath: any KeyPath<PackedNote, String> & Sendable = \.title
  static let bodyPath: any KeyPath<PackedNote, String> & Sendable = \.body
  static let schema = Schema<PackedNote>("note") {
    Plain("time", \.time)
    Sealed("title", \.title)
    Sealed("body", \.body, compressed: true)
  }
}

/// Notelog, and the same with evidence.
final class NotelogEngine: NoteEngine {
  static let evidenceName = "notelog-evidence"

  let name: String
  private let dataset: Dataset
  // A raw key: what is measured is the store, and not scrypt.
  private let credential = Credential.key((0..<32).map { UInt8($0) })
  private var store: Store?
  private var options = EngineOptions()

  init(_ name: String, _ dataset: Dataset) {
    self.name = name
    self.dataset = dataset
  }

  func open(_ path: String, _ options: EngineOptions) throws {
    self.options = options
    let isThere = FileManager.default.fileExists(atPath: path + "/keyring")
    var settings = Store.Options()
    // As much as the peers are given.
    settings.cacheByteCount = 256 << 20
    settings.compaction = .automatic
    settings.keepsEvidence = name == Self.evidenceName
    store =
      isThere
      ? try Store.open(at: path, unlocking: credential, options: settings)
      : try Store.create(at: path, unlocking: credential, options: settings)
  }

  func close() throws {
    try store?.close()
    store = nil
  }

  func session() throws -> any NoteSession {
    guard let store else { throw Failure("notelog: not open") }
    if options.hasTimeIndex { return NotelogSession<TimedNote>(store, dataset, options) }
    if options.isCompressed { return NotelogSession<PackedNote>(store, dataset, options) }
    return NotelogSession<Note>(store, dataset, options)
  }

  func compact() throws { _ = try store?.compact() }

  func verify(_ path: String, _ options: EngineOptions, withKey: Bool) throws {
    let found = try Store.verify(
      at: path, unlocking: withKey ? credential : nil, threadCount: options.threadCount)
    guard found.findings.isEmpty, !withKey || found.openedCount >= 2 * dataset.count else {
      throw Failure("notelog: the store does not verify")
    }
  }
}

/// A thread's session: the store itself, which any thread may use.
///
/// Its hot loops are compiled for `Note` once more: an app has record types, and no types that stand for any.
final class NotelogSession<R: StoredNote>: NoteSession {
  private let store: Store
  private let dataset: Dataset
  private let durability: Durability

  init(_ store: Store, _ dataset: Dataset, _ options: EngineOptions) {
    self.store = store
    self.dataset = dataset
    durability = options.isDurable ? .durable : .flushed
  }

  private func note(_ index: Int, text source: Int) -> R {
    let text = dataset.notes[source]
    return R(
      id: dataset.notes[index].id, time: dataset.notes[index].time, title: text.title, body: text.body)
  }

  /// Runs `body` for one operation after another, and takes the time of each where that is asked for.
  private func timed(_ count: Int, _ latencies: LatencySink?, _ body: (Int) throws -> Void) rethrows {
    for index in 0..<count {
      let start = latencies == nil ? 0 : nowNanoseconds()
      try body(index)
      latencies?.record(index, since: start)
    }
  }

  @_specialize(where R == Note)
  func insert(_ range: Range<Int>, batch: Int, _ latencies: LatencySink?) throws {
    var notes = try store.batch(of: R.self)
    try timed((range.count + batch - 1) / batch, latencies) { operation in
      let start = range.lowerBound + operation * batch
      for index in start..<min(start + batch, range.upperBound) { try notes.put(note(index, text: index)) }
      try notes.commit(durability)
    }
  }

  @_specialize(where R == Note)
  func update(_ picks: [UInt32], batch: Int, version: Int) throws {
    var notes = try store.batch(of: R.self)
    for start in stride(from: 0, to: picks.count, by: batch) {
      for pick in picks[start..<min(start + batch, picks.count)] {
        try notes.put(note(Int(pick), text: (Int(pick) + version) % dataset.count))
      }
      try notes.commit(durability)
    }
  }

  @_specialize(where R == Note)
  func readTitles(_ wanted: Wanted, group: Int, _ latencies: LatencySink?) throws {
    let title = try store.field(R.titlePath)
    var buffer = ValueBuffer()
    var ids: [RecordID] = []
    try timed((wanted.ids.count + group - 1) / group, latencies) { operation in
      let start = operation * group
      if group == 1 {
        guard try store.read(title, of: wanted.ids[start], into: &buffer),
          wanted.notes[start].isTitle(buffer.bytes)
        else { throw Failure("notelog: a title is not what was written") }
        return
      }
      ids.removeAll(keepingCapacity: true)
      ids.append(contentsOf: wanted.ids[start..<min(start + group, wanted.ids.count)])
      try store.readMany(title, of: ids, into: &buffer) { place, bytes in
        guard wanted.notes[start + place].isTitle(bytes) else {
          throw Failure("notelog: a title is not what was written")
        }
      }
    }
  }

  @_specialize(where R == Note)
  func readNotes(_ wanted: Wanted, _ latencies: LatencySink?) throws {
    let title = try store.field(R.titlePath)
    let body = try store.field(R.bodyPath)
    var buffer = ValueBuffer()
    try timed(wanted.ids.count, latencies) { operation in
      guard try store.read(title, of: wanted.ids[operation], into: &buffer),
        wanted.notes[operation].isTitle(buffer.bytes)
      else { throw Failure("notelog: a note is not what was written") }
      try buffer.open(body)
      guard wanted.notes[operation].isBody(buffer.bytes) else {
        throw Failure("notelog: a note is not what was written")
      }
    }
  }

  func firstTitle(_ pick: Int) throws -> Int {
    try store.get(R.self, dataset.notes[pick].id)?.value(of: R.titlePath).utf8.count ?? 0
  }

  func readNewest(_ limit: Int) throws -> Int {
    let entries = try store.query(R.self).sorted(by: R.timePath, .descending).limit(limit).entries()
    for entry in entries { _ = try entry.value(of: R.titlePath) }
    return entries.count
  }

  @_specialize(where R == Note)
  func scanTitles(part: Int, of parts: Int) throws -> Int {
    let title = try store.field(R.titlePath)
    var count = 0
    try store.snapshot().scan(R.self, part: part, of: parts) { entry in
      try entry.withBytes(of: title) { if !$0.isEmpty { count += 1 } }
      return true
    }
    return count
  }

  func searchBodies(part: Int, of parts: Int) throws -> Int {
    guard part == 0 else { return 0 }
    return try store.query(R.self).where(R.bodyPath, contains: dataset.needle).parallel(parts).count()
  }
}
