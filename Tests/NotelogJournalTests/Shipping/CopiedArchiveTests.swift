// A tool that carries an archive elsewhere respects no order: what of it has arrived is a moment, or says what is missing.

@testable import Notelog
import NotelogBase
import NotelogFormat
import NotelogTestSupport
import Testing

/// An archive, what was shipped to it at which revision, and what there was then.
private struct CopiedSample {
  typealias State = [Int: [UInt8]]

  let archive = SimulatedDisk()
  private(set) var states: [(revision: UInt64, state: State)] = []
  private(set) var shipped: [(revision: UInt64, objects: Set<String>)] = []

  init(seed: UInt64) throws {
    var random = SeededGenerator(mixing: seed)
    let disk = SimulatedDisk()
    try disk.addKeyring()
    var options = JournalOptions.small
    options.compactsAutomatically = false
    let journal = try Journal.create(in: disk, storeID: key(99), options: options)
    let shipper = Shipper(disk, to: FolderArchive(archive))
    var state: State = [:]
    for step in 0..<40 {
      let number = random.pick(0..<12)
      let body = random.bytes(count: random.pick(0..<3000))
      state[number] = body
      try journal.put(key(number), body)
      states.append((journal.lastSequence, state))
      if random.oneIn(6) { _ = try journal.compact() }
      if random.oneIn(3) || step == 39 {
        let revision = try shipper.ship().revision
        let objects = try Store.objects(of: FolderArchive(archive), at: .revision(revision))
        shipped.append((revision, Set(objects)))
      }
    }
    try journal.close()
  }

  func state(at revision: UInt64) -> State { states.last { $0.revision <= revision }?.state ?? [:] }

  /// The archive with some of its objects.
  func copy(_ names: Set<String>) -> SimulatedDisk {
    let copy = archive.copy()
    for name in copy.fileNames where !names.contains(name) { copy.replace(name, with: nil) }
    return copy
  }
}

@Suite struct `Copies of archives` {
  private static func contents(_ disk: SimulatedDisk) throws -> CopiedSample.State {
    let journal = try Journal.open(in: disk, options: .small)
    defer { try? journal.close() }
    var contents: CopiedSample.State = [:]
    for id in try journal.records() { contents[Int(id.low)] = try journal.body(of: id) }
    return contents
  }

  /// What is wrong with what a copy gives; nothing where all is well.
  private static func wrong(_ sample: CopiedSample, _ names: Set<String>) throws -> String? {
    let copy = sample.copy(names)
    let whole = sample.shipped.filter { $0.objects.isSubset(of: names) }
    for (revision, _) in whole {
      let target = SimulatedDisk()
      let summary = try Store.restore(FolderArchive(copy), to: target, at: .revision(revision))
      guard summary.findings.isEmpty, summary.revision == revision else {
        return "\(revision) is there, and has \(summary.findings)"
      }
      guard try contents(target) == sample.state(at: revision) else { return "\(revision) is something else" }
    }
    // The newest: a prefix that holds what is whole, or it is said what is missing.
    let target = SimulatedDisk()
    let summary: RestoreSummary
    do { summary = try Store.restore(FolderArchive(copy), to: target) } catch {
      guard whole.isEmpty || names.allSatisfy({ !$0.hasPrefix("store-") }) else {
        return "the newest: \(error)"
      }
      return error.message.isEmpty ? "nothing is said" : nil
    }
    guard summary.findings.isEmpty else { return nil }
    guard summary.revision >= whole.last?.revision ?? 0 else { return "\(summary.revision) is the newest" }
    return try contents(target) == sample.state(at: summary.revision) ? nil : "the newest is no prefix"
  }

  @Test func `whatever has arrived of an archive is a moment, or says what is missing`() throws {
    let seeds = TestEffort.seeds(12, of: 200, orOnly: "NOTELOG_COPY_SEED")
    let wholeCount = Lock(0)
    let failures = try Threads.map(seeds) { seed -> String? in
      let sample = try CopiedSample(seed: seed)
      let all = sample.archive.fileNames
      var random = SeededGenerator(mixing: seed, 7)
      for round in 0..<60 {
        // All but a few, a few, or as an order of transfers has it.
        let names: Set<String>
        switch round % 3 {
        case 0: names = Set(all).subtracting(all.filter { _ in random.oneIn(UInt64(all.count / 2)) })
        case 1: names = Set(all.filter { _ in random.oneIn(2) })
        default: names = Set(all.shuffled(using: &random).prefix(random.pick(0..<all.count)))
        }
        if sample.shipped.contains(where: { $0.objects.isSubset(of: names) }) {
          wholeCount.withLock { $0 += 1 }
        }
        if let wrong = try Self.wrong(sample, names) {
          return
            "NOTELOG_COPY_SEED=\(seed): round \(round): \(wrong), without \(Set(all).subtracting(names).sorted())"
        }
      }
      return nil
    }.compactMap(\.self)
    #expect(failures.isEmpty, "\(failures.count): \(failures.prefix(3).joined(separator: "\n"))")
    #expect(wholeCount.withLock { $0 } > seeds.count * 10)
  }
}
