// Random queries, between random writes, against an answer that knows no index.

import Foundation
@testable import Notelog
import NotelogTestSupport
import Testing

/// A store, and what it must hold.
private final class QueryModel {
  private typealias Content = [RecordID: Sample]

  private static let key = Credential.key([UInt8](repeating: 5, count: 32))

  private var disk = SimulatedDisk()
  private var store: Store
  private var random: SeededGenerator
  private var content: Content = [:]
  private var snapshots: [(snapshot: StoreSnapshot, content: Content)] = []
  /// Pages that are to be gone on from, and what their last records were like.
  private var pages: [(question: Question, cursor: QueryCursor, last: Sample)] = []
  private(set) var usedIndexes = 0
  private(set) var askedInOrder = 0
  private(set) var usedStored = 0

  init(seed: UInt64) throws {
    random = SeededGenerator(mixing: seed)
    store = try Store.create(in: disk, unlocking: Self.key, options: Store.Options())
    let samples = (0..<random.pick(1..<150)).map { _ in sample() }
    try store.putAll(samples)
    for sample in samples { content[sample.id] = sample }
  }

  func run(_ steps: Int) throws {
    for _ in 0..<steps {
      switch random.pick(0..<27) {
      case 0..<4: try change()
      case 4: try fail()
      case 5: try store.compact()
      case 6: try reopen()
      case 7: if store.isUnlocked { store.lock() } else { try store.unlock(Self.key) }
      case 8: snapshots.append((store.snapshot(), content))
      case 9: if !snapshots.isEmpty { snapshots.removeFirst() }
      case 10..<12: try askWhileWriting()
      case 12..<14: try askSnapshot()
      // Orders are stored with it, and read from it after the next opening.
      case 14: try store.journal.checkpoint()
      case 15: try kill()
      case 16..<20: try turnPage()
      default: try ask(store.query(Sample.self), content)
      }
    }
  }

  private func sample(_ id: RecordID? = nil) -> Sample {
    let id = id ?? RecordID(high: random.next(), low: random.next())
    return Sample.random(id, &random)
  }

  private func someIDs() -> [RecordID] {
    Array(content.keys.sorted().shuffled(using: &random).prefix(random.pick(1..<30)))
  }

  private func change() throws {
    content = try store.write { tx in try change(in: &tx) }
    guard store.isUnlocked, random.oneIn(60) else { return }
    // It lacks every other field, so that no index is of use any longer.
    let id = try store.collection("sample").add(["title": .text("title 3")])
    content[id] = Sample(id: id, title: "title 3")
  }

  /// Writes some, and returns what the transaction sees then.
  private func change(in tx: inout Transaction) throws -> Content {
    var next = content
    for id in someIDs() {
      let new = sample(id)
      switch random.pick(0..<3) {
      case 0:
        try tx.delete(Sample.self, id)
        next[id] = nil
      case 1 where store.isUnlocked:
        try tx.put(new)
        next[id] = new
      default:
        try tx.update(Sample.self, id) { draft in
          draft.set(\.count, new.count)
          draft.set(\.name, new.name)
          draft.set(\.ratio, new.ratio)
        }
        next[id]?.count = new.count
        next[id]?.name = new.name
        next[id]?.ratio = new.ratio
      }
    }
    for _ in 0..<(store.isUnlocked ? random.pick(0..<15) : 0) {
      let new = sample()
      try tx.put(new)
      next[new.id] = new
    }
    return next
  }

  /// Keys of a transaction that fails stay in the indexes.
  private func fail() throws {
    do {
      try store.write { tx in
        for id in someIDs() { try tx.update(Sample.self, id) { $0.set(\.count, 7) } }
        throw CancellationError()
      }
    } catch is CancellationError { return }
  }

  private func reopen() throws {
    snapshots = []
    pages = []
    try store.close()
    store = try Store.open(in: disk, unlocking: random.oneIn(2) ? Self.key : nil, options: Store.Options())
  }

  /// What the system was handed is there, and nothing else.
  private func kill() throws {
    snapshots = []
    pages = []
    disk = disk.crashImageNow(.processKilled)
    store = try Store.open(in: disk, unlocking: random.oneIn(2) ? Self.key : nil, options: Store.Options())
  }

  // MARK: - Asking

  private func askSnapshot() throws {
    guard let one = snapshots.randomElement(using: &random) else { return }
    try ask(one.snapshot.query(Sample.self), one.content, isOfNow: false)
  }

  /// Inside of a write closure the store's queries see what was committed before, and the transaction's its
  /// own writes too.
  private func askWhileWriting() throws {
    do {
      try store.write { tx in
        let next = try change(in: &tx)
        try ask(store.query(Sample.self), content)
        try ask(tx.query(Sample.self), next, isOfNow: false)
        try ask(tx.query(Sample.self), next, isOfNow: false)
        throw CancellationError()
      }
    } catch is CancellationError { return }
  }

  private func ask(_ query: Query<Sample>, _ content: Content, isOfNow: Bool = true) throws {
    let question = Question(
      query, &random, mayOpen: store.isUnlocked, isOfNow: isOfNow, ids: random.oneIn(8) ? someIDs() : nil)
    let plan = try question.query.explain()
    if !plan.indexes.isEmpty { usedIndexes += 1 }
    if plan.indexes.first?.direction != nil { askedInOrder += 1 }
    if store.indexes.holdsStored { usedStored += 1 }
    let samples = question.answer(content.values)
    let all = samples.map(\.id)
    let expected = Array(all.prefix(question.limit ?? .max))
    let found = try question.query.entries().map(\.id)
    let isRight =
      question.isSorted
      ? found == expected
      : found.count == expected.count && Set(found).count == found.count && Set(found).isSubset(of: all)
    let words = "\(question.words), by the plan \(plan)"
    guard isRight else {
      throw QueryModelError(
        "\(found.count) of \(content.count) found, not \(expected.count), or others: \(words)")
    }
    guard try question.query.count() == expected.count else {
      throw QueryModelError("another count: \(words)")
    }
    guard try (question.query.first() == nil) == all.isEmpty else {
      throw QueryModelError("another first: \(words)")
    }
    if question.limit == nil { try askFigures(question, samples) }
    guard question.isSorted, let place = all.indices.randomElement(using: &random) else { return }
    let offset = random.pick(0..<all.count + 2)
    guard
      try question.query.limit(5, offset: offset).entries().map(\.id)
        == all.dropFirst(offset).prefix(5).map(\.self)
    else { throw QueryModelError("another page at \(offset): \(words)") }
    let last = try question.query.limit(1, offset: place).entries()[0]
    let cursor = try question.query.cursor(at: last)
    try ask(question, after: cursor, samples[place], content)
    if question.isOfNow { pages.append((question, cursor, samples[place])) }
  }

  /// The figures of a question without a limit.
  private func askFigures(_ question: Question, _ samples: [Sample]) throws {
    let query = question.query
    let isRight =
      try query.sum(of: \.count) == samples.reduce(0) { $0 + $1.count }
      && query.min(of: \.count) == samples.map(\.count).min()
      && query.max(of: \.moment) == samples.map(\.moment).max()
      && query.max(of: \.ratio) == samples.map(\.ratio).filter { !$0.isNaN }.max()
      && query.min(of: \.perhaps)?.utf8.map(\.self)
        == samples.compactMap { $0.perhaps.map { Array($0.utf8) } }.min { $0.lexicographicallyPrecedes($1) }
    guard isRight else { throw QueryModelError("other figures: \(question.words)") }
  }

  /// Goes on from a page that was found before: whatever has changed since.
  private func turnPage() throws {
    guard let index = pages.indices.randomElement(using: &random) else { return }
    let page = pages.remove(at: index)
    guard store.isUnlocked || !page.question.mayOpen else { return }
    try ask(page.question, after: page.cursor, page.last, content)
  }

  private func ask(
    _ question: Question, after cursor: QueryCursor, _ last: Sample, _ content: Content
  ) throws {
    let all = question.answer(content.values, after: last).map(\.id)
    let found = try question.query.after(cursor).entries().map(\.id)
    let expected = Array(all.prefix(question.limit ?? .max))
    guard found == expected, try question.query.after(cursor).count() == expected.count else {
      throw QueryModelError(
        "another page: \(question.words), by the plan \(try question.query.after(cursor).explain())")
    }
  }
}

private struct QueryModelError: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}

@Suite struct QueryModelTests {
  @Test func `queries find what somebody finds who reads everything`() throws {
    let seeds = TestEffort.seeds(100, of: 10_000, orOnly: "NOTELOG_MODEL_SEED")
    var (usedIndexes, askedInOrder, usedStored) = (0, 0, 0)
    for seed in seeds {
      let model = try QueryModel(seed: seed)
      do { try model.run(40) } catch {
        Issue.record("NOTELOG_MODEL_SEED=\(seed): \(error)")
        return
      }
      usedIndexes += model.usedIndexes
      askedInOrder += model.askedInOrder
      usedStored += model.usedStored
    }
    // Else the test would say nothing of indexes.
    #expect(
      seeds.count == 1
        || usedIndexes > 2 * seeds.count && askedInOrder > seeds.count && usedStored > seeds.count,
      "\(usedIndexes), \(askedInOrder), \(usedStored)")
  }
}

extension FieldIndexes {
  /// Whether an index is in memory that a checkpoint holds.
  fileprivate var holdsStored: Bool {
    (1..<10).contains { field in
      (1..<10).contains { collection in
        index(OrderName(collection: UInt16(collection), field: UInt16(field)))?.isStored == true
      }
    }
  }
}
