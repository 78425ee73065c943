// Random operations against a dictionary, with lock, unlock, reopening, compaction and crashes mixed in.

@testable import Notelog
import Foundation
import NotelogTestSupport
import Testing

/// What the model knows of a record.
private struct Page: Record, Equatable {
  var id = RecordID()
  var time = Date(timeIntervalSinceReferenceDate: 0)
  var count = 0
  var title = ""
  var body: String?
  /// Now and then too long for the record.
  var scan: [UInt8] = []
  static let schema = Schema<Page>("page") {
    Plain("time", \.time, indexed: true)
    Plain("count", \.count)
    Sealed("title", \.title)
    Sealed("body", \.body, key: "personal", compressed: true)
    Sealed("scan", \.scan)
  }
}

/// A store, what it must hold, and what it may hold after a crash.
private final class StoreModel {
  private typealias Content = [RecordID: Page]

  private static let key = Credential.key([UInt8](repeating: 5, count: 32))

  private var disk = SimulatedDisk()
  private var store: Store
  private var random: SeededGenerator
  private var content: Content = [:]
  /// The contents that a power loss may leave: the last durable one, and each that came after it.
  private var possible: [Content] = [[:]]
  private var isLocked = false
  /// Whether the store keeps evidence, and whether its key is locked too: then no record is written.
  private let keepsEvidence: Bool
  private var isEvidenceLocked = false
  /// Snapshots that live, and what each must show.
  private var snapshots: [(snapshot: StoreSnapshot, content: Content)] = []
  /// What an observer was told, and which records there must be by that.
  private var subscription = ChangeSubscription(["page"], nil)
  private var observed: Set<RecordID> = []
  private var lastRevision: UInt64 = 0
  /// What was done, for the message of a failure.
  private(set) var history: [String] = []

  init(seed: UInt64, keepsEvidence: Bool) throws {
    random = SeededGenerator(mixing: seed)
    self.keepsEvidence = keepsEvidence
    var options = Store.Options()
    options.keepsEvidence = keepsEvidence
    options.segmentByteCount = 16 << 10
    store = try Store.create(in: disk, unlocking: Self.key, options: options)
    store.observe(subscription)
    // The schema is stored with the first record; from then on a locked store can be written to.
    try commit(.durable, [:]) { tx in
      let page = Page()
      try tx.put(page)
      try tx.delete(Page.self, page.id)
    }
  }

  func run(_ steps: Int) throws {
    for _ in 0..<steps {
      switch random.pick(0..<100) {
      case 0..<68 where isEvidenceLocked, 92..<94 where isEvidenceLocked: try refuse()
      case 0..<25: try put()
      case 25..<45: try update()
      case 45..<55: try delete()
      case 55..<62: try putAll()
      case 62..<68: try severalAtOnce()
      case 68..<72: try fail()
      case 72..<78: try toggleLock()
      case 78..<82: try compact()
      case 82..<88: try reopen()
      case 88..<92: try crash()
      case 92..<94: try upload()
      case 94..<96: snapshot()
      default: try check()
      }
    }
    try unlock()
    try check()
    try store.close()
    let verification = try Store.verify(in: disk, unlocking: Self.key)
    try expect(verification.verdict == .sound, "verify: \(verification.findings)")
  }

  // MARK: - Writing

  /// A store that keeps evidence writes no record while the key of that is locked.
  private func refuse() throws {
    guard let id = someID() else { return }
    try expectLocked { try self.store.write { tx in _ = try tx.delete(Page.self, id) } }
  }

  private func newID() -> RecordID { RecordID(high: random.next(), low: random.next()) }

  private func page(_ id: RecordID? = nil) -> Page {
    Page(
      id: id ?? newID(), time: Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<50))),
      count: random.pick(0..<5),
      title: String(repeating: "t", count: random.pick(0..<40)),
      body: random.oneIn(3) ? nil : String(repeating: "body ", count: random.pick(0..<300)), scan: scan())
  }

  /// Mostly short; else of one chunk or two, or just not of one.
  private func scan() -> [UInt8] {
    guard random.oneIn(40) else { return random.bytes(count: random.pick(0..<30)) }
    return random.bytes(count: random.pick(65_530..<70_000) + (random.oneIn(3) ? 65_536 : 0))
  }

  private func someID() -> RecordID? { content.keys.sorted().randomElement(using: &random) }

  private func level() -> Notelog.Durability {
    Notelog.Durability.allCases.randomElement(using: &random) ?? .durable
  }

  private func put() throws {
    let page = page(random.oneIn(4) ? someID() ?? newID() : newID())
    guard !isLocked else {
      return try expectLocked { try self.store.write { tx in _ = try tx.put(page) } }
    }
    var next = content
    next[page.id] = page
    let isNew = content[page.id] == nil
    try commit(level(), next) { tx in try tx.put(page, if: isNew ? .absent : .always) }
  }

  private func update() throws {
    guard let id = someID(), var page = content[id] else { return }
    let new = self.page(id)
    let sealed = random.oneIn(2)
    page.time = new.time
    page.count = new.count
    if sealed { page.title = new.title }
    let change: (inout Draft<Page>) -> Void = {
      $0.set(\.time, new.time)
      $0.set(\.count, new.count)
      if sealed { $0.set(\.title, new.title) }
    }
    guard !(isLocked && sealed) else {
      return try expectLocked { try self.store.write { tx in try tx.update(Page.self, id, change) } }
    }
    var next = content
    next[id] = page
    try commit(level(), next) { tx in try tx.update(Page.self, id, change) }
  }

  /// A value streamed in ahead of the record.
  private func upload() throws {
    guard let id = someID(), var page = content[id] else { return }
    let bytes = random.bytes(count: random.pick(60_000..<140_000))
    var offset = 0
    func upload() throws -> Upload<Page> {
      try store.upload(to: \Page.scan, of: id) { buffer in
        let count = min(buffer.byteCount, min(9_999, bytes.count - offset))
        for index in 0..<count {
          buffer.storeBytes(of: bytes[offset + index], toByteOffset: index, as: UInt8.self)
        }
        offset += count
        return count
      }
    }
    guard !isLocked else { return try expectLocked { _ = try upload() } }
    let uploaded = try upload()
    // Now and then it is given up.
    if random.oneIn(3) { return }
    page.scan = bytes
    var next = content
    next[id] = page
    try commit(level(), next) { tx in try tx.update(Page.self, id) { $0.set(\.scan, uploaded) } }
  }

  private func snapshot() {
    if snapshots.count == 2 { snapshots.remove(at: random.pick(0..<2)) }
    snapshots.append((store.snapshot(), content))
  }

  private func delete() throws {
    guard let id = someID() else { return }
    var next = content
    next[id] = nil
    let revision = try store.get(Page.self, id)?.revision ?? 0
    try commit(level(), next) { tx in try tx.delete(Page.self, id, if: .revision(revision)) }
  }

  private func putAll() throws {
    guard !isLocked else { return }
    let pages = (0..<random.pick(1..<20)).map { _ in page() }
    let level = level()
    try store.putAll(pages, level)
    var next = content
    for page in pages { next[page.id] = page }
    committed(level, next)
  }

  private func severalAtOnce() throws {
    guard !isLocked else { return }
    var next = content
    var steps: [(RecordID, Page?)] = []
    for _ in 0..<random.pick(2..<10) {
      let id = random.oneIn(2) ? steps.last?.0 ?? newID() : someID() ?? newID()
      let page = random.oneIn(4) ? nil : page(id)
      next[id] = page
      steps.append((id, page))
    }
    try commit(level(), next) { tx in
      for (id, page) in steps {
        if let page { try tx.put(page) } else { try tx.delete(Page.self, id) }
        guard try tx.get(Page.self, id)?.record() == page else { throw ModelError("a write isn't read back") }
      }
    }
  }

  /// A closure that throws writes nothing.
  private func fail() throws {
    let id = someID()
    do {
      try store.write { tx in
        if let id { try tx.delete(Page.self, id) }
        throw CancellationError()
      }
    } catch is CancellationError {}
  }

  private func commit(
    _ level: Notelog.Durability, _ next: Content, _ body: (inout Transaction) throws -> Void
  ) throws {
    try store.write(level, body)
    committed(level, next)
  }

  private func committed(_ level: Notelog.Durability, _ next: Content) {
    let changed = Set(content.keys).union(next.keys).count { content[$0] != next[$0] }
    history.append("\(level) commit of \(changed)")
    content = next
    if level == .durable { possible = [next] } else { possible.append(next) }
  }

  // MARK: - Everything else

  private func toggleLock() throws {
    if isLocked { return try unlock() }
    let isAll = random.oneIn(2)
    store.lock(isAll ? .everything : .whenUnlocked)
    (isLocked, isEvidenceLocked) = (true, isAll && keepsEvidence)
  }

  private func unlock() throws {
    try store.unlock(Self.key)
    (isLocked, isEvidenceLocked) = (false, false)
  }

  private func compact() throws {
    history.append("compact")
    let summary = try store.compact()
    try expect(summary.damagedSegments.isEmpty, "compaction found damage")
  }

  private func reopen() throws {
    history.append("reopen")
    try store.close()
    possible = [content]
    try open()
  }

  private func open() throws {
    snapshots = []
    isLocked = random.oneIn(3)
    isEvidenceLocked = isLocked && keepsEvidence
    var options = Store.Options()
    options.segmentByteCount = 16 << 10
    store = try Store.open(in: disk, unlocking: isLocked ? nil : Self.key, options: options)
    subscription = ChangeSubscription(["page"], nil)
    store.observe(subscription)
    observed = Set(content.keys)
    lastRevision = 0
  }

  private func crash() throws {
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    history.append("crash \(loss)")
    let image = disk.crashImageNow(loss, seed: random.next())
    // The old store goes on for a while on its own disk, as a process does that doesn't know yet.
    try store.close()
    disk = image
    try open()
    try unlock()
    try audit()
    let found = try readAll()
    guard possible.contains(found) else {
      let differences = possible.map { content in
        let ids = Set(content.keys).union(found.keys).filter { content[$0] != found[$0] }
        return ids.map { content[$0] == nil ? "there" : found[$0] == nil ? "missing" : "other" }
      }
      throw ModelError(
        "after \(loss) no state that was committed is there; they differ by \(differences) records")
    }
    content = found
    observed = Set(found.keys)
    // What recovery kept it has made durable.
    possible = [found]
  }

  private func readAll() throws -> Content {
    var found: Content = [:]
    for entry in try store.query(Page.self).entries() { found[entry.id] = try entry.record() }
    return found
  }

  private func check() throws {
    try checkObserver()
    let sorted = try store.query(Page.self).sorted(by: \.time, .descending).limit(7).entries()
    let expected = content.values.sorted { $0.time == $1.time ? $0.id < $1.id : $0.time > $1.time }.prefix(7)
    try expect(sorted.map(\.id) == expected.map(\.id), "the newest are others")
    let three = try store.query(Page.self).where(\.count, is: 3).count()
    try expect(three == content.values.count { $0.count == 3 }, "there are other records with 3")
    if let id = someID(), let page = content[id] {
      let entry = try store.get(Page.self, id)
      try expect(entry?.count == page.count, "a plain field differs")
      if isLocked {
        try expectLocked { _ = try entry?.title }
      } else {
        try expect(entry?.title == page.title && entry?.body == page.body, "a sealed field differs")
      }
    }
    try expect(try store.get(Page.self, RecordID()) == nil, "a record came from nowhere")
    if isLocked { return }
    try audit()
    let found = try readAll()
    try expect(found == content, "\(found.count) records instead of \(content.count), or others")
    let long = try store.query(Page.self).filter(\.title) { $0.utf8.count > 20 }.count()
    try expect(long == content.values.count { $0.title.utf8.count > 20 }, "there are other long titles")
    try checkSnapshots()
  }

  /// The observer was told of every commit, in order, and of nothing else.
  private func checkObserver() throws {
    while let changes = subscription.poll() {
      try expect(changes.isComplete, "an observer is told too little")
      try expect(changes.revisions.lowerBound > lastRevision, "commits came to the observer out of order")
      lastRevision = changes.revisions.upperBound
      observed.formUnion(changes.written)
      observed.subtract(changes.deleted)
    }
    try expect(observed == Set(content.keys), "the observer was told of other records")
  }

  private func checkSnapshots() throws {
    for (snapshot, content) in snapshots {
      var found: Content = [:]
      for entry in try snapshot.query(Page.self).entries() { found[entry.id] = try entry.record() }
      try expect(
        found == content, "a snapshot shows \(found.count) records instead of \(content.count), or others")
      guard let id = content.keys.sorted().randomElement(using: &random) else { continue }
      try expect(try snapshot.get(Page.self, id)?.record() == content[id], "a snapshot's record differs")
    }
  }

  /// What honest use does is never an alarm.
  private func audit() throws {
    guard keepsEvidence else { return }
    let audit = try store.audit()
    try expect(audit.isSound, "an audit found \(audit.findings.map(\.message))")
  }

  private func expectLocked(_ body: () throws -> Void) throws {
    do { try body() } catch let error as NotelogError where error.code == .locked { return }
    throw ModelError("a locked store did what needs a key")
  }

  private func expect(_ condition: @autoclosure () throws -> Bool, _ message: @autoclosure () -> String)
    throws
  {
    guard try condition() else { throw ModelError(message()) }
  }
}

private struct ModelError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

@Suite struct StoreModelTests {
  @Test(arguments: [false, true])
  func `a store does what a dictionary does, crashes and locks mixed in`(keepsEvidence: Bool) throws {
    for seed in TestEffort.seeds(100, of: 20_000, orOnly: "NOTELOG_MODEL_SEED") {
      let model = try StoreModel(seed: seed, keepsEvidence: keepsEvidence)
      do { try model.run(60) } catch {
        Issue.record(
          "NOTELOG_MODEL_SEED=\(seed): \(error), after \(model.history.suffix(20).joined(separator: ", "))")
        return
      }
    }
  }
}
