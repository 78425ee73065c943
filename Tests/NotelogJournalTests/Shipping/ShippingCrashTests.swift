// The machine dies between any two calls of a store and its shipper, and transfers go wrong: FORMAT.md §26.

@testable import Notelog
@testable import NotelogFormat
import NotelogBase
import NotelogStorage
import NotelogTestSupport
import Testing

/// An archive whose transfers go wrong: they fail before or behind the put, are made twice, leave a part of an
/// object under its name, or fail and arrive later, behind others.
private final class FaultyArchive: Archive {
  struct Failed: Error {}

  private struct State {
    var random: SeededGenerator
    /// Requests that were given up, and are under way still.
    var delayed: [(name: String, bytes: [UInt8])] = []
  }

  private let folder: FolderArchive
  private let state: Lock<State>

  init(_ folder: FolderArchive, seed: UInt64) {
    self.folder = folder
    state = Lock(State(random: SeededGenerator(mixing: seed)))
  }

  func objects() throws -> [String: Int] {
    try arrive()
    return try folder.objects()
  }
  func read(_ name: String, _ range: Range<Int>) throws -> [UInt8] { try folder.read(name, range) }

  func put(_ name: String, _ contents: ArchiveContents) throws {
    try arrive()
    switch state.withLock({ $0.random.pick(0..<20) }) {
    case 0: throw Failed()
    case 1:
      try folder.put(name, contents)
      throw Failed()
    case 2:
      try folder.put(name, contents)
      try folder.put(name, contents)
    case 3 where contents.byteCount > 0:
      let file = try folder.storage.openEmpty(name)
      defer { file.close() }
      try file.copyBytes(of: contents.file, 0..<contents.byteCount / 2)
      throw Failed()
    case 4, 5:
      let bytes = try contents.read(0..<contents.byteCount)
      state.withLock { $0.delayed.append((name, bytes)) }
      throw Failed()
    default: try folder.put(name, contents)
    }
  }

  /// Some of what is under way arrives, in any order.
  private func arrive() throws {
    let arriving = state.withLock { state in
      let isArriving = state.delayed.map { _ in state.random.oneIn(4) }
      let arriving = zip(state.delayed, isArriving).filter(\.1).map(\.0)
      state.delayed = zip(state.delayed, isArriving).filter { !$0.1 }.map(\.0)
      return arriving.shuffled(using: &state.random)
    }
    for (name, bytes) in arriving { try folder.put(name, ArchiveContents(MemoryFile(bytes))) }
  }
}

/// A store that is shipped, until the machine dies.
private final class DyingMachine: Sendable {
  typealias State = [Int: [UInt8]]

  struct Wrong: Error, CustomStringConvertible {
    let description: String
  }

  /// What was known when it died.
  struct Death {
    let store: SimulatedDisk
    let archive: SimulatedDisk
    let shipped: UInt64?
  }

  private let seed: UInt64
  private let store = SimulatedDisk()
  private let archive = SimulatedDisk()
  private let state = Lock(
    (calls: 0, target: Int.max, shipped: UInt64?.none, death: Death?.none, isDead: false))

  init(seed: UInt64) { self.seed = seed }

  /// Runs until the machine dies.
  ///
  /// - Returns: How many calls there were, what was left, and what there was after each transaction.
  func run(dyingAfter target: Int) throws -> (calls: Int, death: Death?, states: [UInt64: State]) {
    state.withLock { $0.target = target }
    for disk in [store, archive] { disk.afterEachCall { [self] _, _ in count() } }
    defer { for disk in [store, archive] { disk.afterEachCall(nil) } }
    var random = SeededGenerator(mixing: seed)
    var options = JournalOptions.small
    options.compactsAutomatically = false
    let journal = try Journal.create(in: store, storeID: key(99), options: options)
    let faulty = FaultyArchive(FolderArchive(archive), seed: seed ^ 99)
    let shipper = Shipper(store, to: faulty)
    var (contents, states) = (State(), [journal.lastSequence: State()])
    for _ in 0..<40 where !state.withLock({ $0.isDead }) {
      switch random.pick(0..<10) {
      case 0..<5:
        let number = random.pick(0..<20)
        let body = random.bytes(count: random.pick(0..<900))
        contents[number] = body
        try journal.put(key(number), body, random.oneIn(2) ? .durable : .flushed)
        states[journal.lastSequence] = contents
      case 5: _ = try journal.compact()
      case 6: try journal.checkpoint()
      default:
        // What fails is done by a later round.
        guard let revision = try? shipper.ship().revision else { continue }
        state.withLock { $0.shipped = revision }
      }
    }
    return state.withLock { ($0.calls, $0.death, states) }
  }

  private func count() {
    let isNow = state.withLock { state in
      guard !state.isDead else { return false }
      state.calls += 1
      state.isDead = state.calls == state.target
      return state.isDead
    }
    guard isNow else { return }
    var random = SeededGenerator(mixing: seed &+ UInt64(state.withLock { $0.calls }))
    let loss = LossModel.allCases.randomElement(using: &random) ?? .allLost
    let death = Death(
      store: store.crashImageNow(loss, seed: random.next()),
      archive: archive.crashImageNow(loss, seed: random.next()),
      shipped: state.withLock { $0.shipped })
    state.withLock { $0.death = death }
  }

  /// Checks what a death left, and that the next round goes on.
  static func check(_ death: Death, _ states: [UInt64: State]) throws {
    let found = try restored(death.archive)
    if found == nil, let shipped = death.shipped {
      throw Wrong(description: "\(shipped) was shipped, and nothing is there")
    }
    if let found {
      guard found.revision >= death.shipped ?? 0 else {
        throw Wrong(description: "\(death.shipped ?? 0) was shipped, \(found.revision) is there")
      }
      guard found.state == states.filter({ $0.key <= found.revision }).max(by: { $0.key < $1.key })?.value
      else {
        throw Wrong(description: "revision \(found.revision) is no prefix")
      }
    }
    guard let journal = try? Journal.open(in: death.store, options: .small) else {
      guard found == nil else { throw Wrong(description: "the store is gone, and the archive not") }
      return
    }
    guard journal.lastSequence >= found?.revision ?? 0 else {
      throw Wrong(
        description: "the archive is ahead of the store: \(journal.lastSequence), \(found?.revision ?? 0)")
    }
    let findings = try ship(death.store, to: death.archive).findings
    guard findings.isEmpty else { throw Wrong(description: "the next round: \(findings)") }
    guard try restored(death.archive)?.state == contents(journal) else {
      throw Wrong(description: "the next round shipped something else")
    }
    try journal.close()
  }

  /// The newest moment of an archive; nothing where there is none.
  private static func restored(_ archive: SimulatedDisk) throws -> (revision: UInt64, state: State)? {
    let target = SimulatedDisk()
    do {
      let summary = try restore(archive, to: target)
      // What a transfer cut short is named.
      guard summary.findings.allSatisfy({ $0.kind == .archiveObject }) else {
        throw Wrong(description: "restored: \(summary.findings)")
      }
      return (summary.revision, try contents(Journal.open(in: target, options: .small)))
    } catch let error as NotelogError where error.code == .notFound { return nil }
  }

  private static func contents(_ journal: Journal) throws -> State {
    var contents: State = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    return contents
  }
}

@Suite struct `Crashes of shipping` {
  /// INV-C6, INV-C10.
  @Test func `whenever the machine dies, an archive holds a prefix, with all that was shipped before`() throws
  {
    let seeds = TestEffort.seeds(50, of: 1000, orOnly: "NOTELOG_SHIPPING_CRASH_SEED")
    let deathCount = Lock(0)
    let failures = try Threads.map(seeds) { seed -> String? in
      do {
        let total = try DyingMachine(seed: seed).run(dyingAfter: .max).calls
        var random = SeededGenerator(mixing: seed ^ 1)
        var count = 0
        // A run makes some more calls or fewer than another: threads take turns.
        while count < 20 {
          let target = random.pick(1..<total)
          let (_, death, states) = try DyingMachine(seed: seed).run(dyingAfter: target)
          guard let death else { continue }
          count += 1
          deathCount.withLock { $0 += 1 }
          do { try DyingMachine.check(death, states) } catch {
            return "NOTELOG_SHIPPING_CRASH_SEED=\(seed), call \(target): \(error)"
          }
        }
        return nil
      } catch { return "NOTELOG_SHIPPING_CRASH_SEED=\(seed): \(error)" }
    }.compactMap(\.self)
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(5).joined(separator: "\n"))")
    #expect(deathCount.withLock { $0 } >= seeds.count * 20)
  }
}
