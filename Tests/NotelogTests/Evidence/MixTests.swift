// Stores that are put together of parts of several moments: sound if and only if all are of one.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

/// A record, and as two later versions of the app declare it.
private struct Item: Record {
  var id = RecordID()
  var number = 0
  var text = ""
  static let schema = Schema<Item>("item") {
    Plain("number", \.number)
    Sealed("text", \.text)
  }
}

private struct Longer: Record {
  var id = RecordID()
  var extra = 0
  static let schema = Schema<Longer>("item") {
    Kept("number")
    Kept("text")
    Kept("more")
    Plain("extra", \.extra)
  }
}

private struct Other: Record {
  var id = RecordID()
  var more = ""
  static let schema = Schema<Other>("item") {
    Kept("number")
    Kept("text")
    Kept("extra")
    Sealed("more", \.more, key: "more")
  }
}

/// What a store, and a copy of it that parted from it, were behind each of their transactions.
private struct Lines {
  /// All that an attacker has of a moment, in parts.
  struct Moment {
    let records: [ID16: ForgedStore.Frame]
    let state: ForgedStore.Frame?
    let schemas: [ForgedStore.Frame]
    let files: [String: [UInt8]]
    let keyring: Keyring

    init(_ disk: SimulatedDisk) throws {
      let store = try ForgedStore(disk).moment()
      files = store.files
      keyring = try Keyring(parsing: store.files["keyring"] ?? [])
      var (records, schemas, state) = (
        [ID16: ForgedStore.Frame](), [ForgedStore.Frame](), nil as ForgedStore.Frame?
      )
      for frame in store.frames where frame.header.kind == .record {
        if frame.header.isState {
          state = frame
        } else if frame.header.collection == 0 {
          schemas.append(frame)
        } else {
          records[frame.id] = frame
        }
      }
      (self.records, self.schemas, self.state) = (records, schemas, state)
    }
  }

  /// Which version, or none, a mix has of each record, and the moments that its other parts are of.
  struct Mix {
    var records: [ID16: ForgedStore.Frame]
    var (state, schemas, keyring): (Int, Int, Int)
  }

  private(set) var moments: [Moment] = []
  private var template: ForgedStore

  /// Runs steps, and others from behind one of them on in a copy of the store.
  init(_ steps: [(Store) throws -> Void], forkingAfter fork: Int, _ others: [(Store) throws -> Void]) throws {
    let disk = SimulatedDisk()
    var copy: SimulatedDisk?
    var store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    template = try ForgedStore(disk)
    moments.append(try Moment(disk))
    for (index, step) in steps.enumerated() {
      try step(store)
      moments.append(try Moment(disk))
      if index == fork { copy = disk.copy() }
    }
    try store.close()
    moments.append(try Moment(disk))
    template.nextSequence = 1 << 20
    guard let copy else { return }
    store = try Store.open(in: copy, unlocking: TemporaryFolder.key, options: EvidenceTests.options)
    for step in others {
      try step(store)
      moments.append(try Moment(copy))
    }
    try store.close()
  }

  var ids: [ID16] { Set(moments.flatMap(\.records.keys)).sorted() }

  /// The versions of a record, each once, and none.
  func versions(of id: ID16) -> [ForgedStore.Frame?] {
    unique(moments.map { $0.records[id] } + [nil]) { $0 == $1 }
  }

  /// Moments no two of which have a part in common.
  func places(_ isSame: (Moment, Moment) -> Bool) -> [Int] {
    unique(Array(moments.indices)) { isSame(moments[$0], moments[$1]) }
  }

  private func unique<Element>(_ all: [Element], _ isSame: (Element, Element) -> Bool) -> [Element] {
    all.reduce(into: []) { known, one in if !known.contains(where: { isSame($0, one) }) { known.append(one) }
    }
  }

  static func haveSameSchemas(_ one: Moment, _ two: Moment) -> Bool {
    one.schemas.map(\.payload) == two.schemas.map(\.payload)
  }

  /// Whether it is one moment of one line. A keyring that is newer than the state passes: a crash may have come between.
  func isMoment(_ mix: Mix) -> Bool {
    moments.contains { moment in
      let keyring = moments[mix.keyring].keyring
      return moment.state == moments[mix.state].state && moment.records == mix.records
        && Self.haveSameSchemas(moment, moments[mix.schemas])
        && (keyring == moment.keyring || keyring.generation > moment.keyring.generation)
    }
  }

  /// Whether an audit finds nothing in it.
  func isSound(_ mix: Mix) throws -> Bool {
    var store = template
    store.frames = moments[mix.schemas].schemas + mix.records.values
    if let state = moments[mix.state].state { store.frames.append(state) }
    store.files["schemas"] = moments[mix.schemas].files["schemas"]
    for name in ["keyring", "keyring.copy"] { store.files[name] = moments[mix.keyring].files["keyring"] }
    let memory = MemoryStorage()
    try store.write(to: memory)
    var options = Store.Options()
    options.isReadOnly = true
    let opened = try Store.open(in: memory, unlocking: TemporaryFolder.key, options: options)
    defer { try? opened.close() }
    return try opened.audit().isSound
  }
}

@Suite struct MixTests {
  /// One transaction.
  private static func step(_ body: @escaping (inout Transaction) throws -> Void) -> (Store) throws -> Void {
    { store in try store.write { tx in try body(&tx) } }
  }

  private static func update(_ id: RecordID, _ number: Int) -> (Store) throws -> Void {
    step { tx in try tx.update(Item.self, id) { $0.set(\.number, number) } }
  }

  /// Eight transactions on three records, and three of a copy that parts from them in the middle.
  @Test func `of all mixes of a small history and a fork, the moments are sound and nothing else`() throws {
    let (a, b, c) = (RecordID(), RecordID(), RecordID())
    let lines = try Lines(
      [
        Self.step { tx in
          try tx.put(Item(id: a, number: 1, text: "one"))
          try tx.put(Item(id: b, number: 2, text: "two"))
        },
        Self.update(a, 3),
        Self.step { tx in
          try tx.delete(Item.self, b)
          try tx.put(Item(id: c, number: 4, text: "four"))
        },
        Self.step { tx in try tx.put(Item(id: b, number: 5, text: "five")) },
        Self.step { tx in try tx.put(Longer(id: a, extra: 1)) },
        { store in try store.createKey("work", .whenUnlocked) },
        Self.step { tx in try tx.delete(Item.self, c) },
        Self.step { tx in
          try tx.put(Longer(id: a, extra: 2))
          try tx.update(Item.self, b) { $0.set(\.number, 6) }
        },
      ], forkingAfter: 3,
      [
        Self.step { tx in try tx.put(Other(id: a, more: "more")) },
        { store in try store.grant(["more"], to: .key([UInt8](repeating: 7, count: 32))) },
        Self.step { tx in try tx.delete(Item.self, a) },
      ])
    let states = lines.places { $0.state == $1.state }
    let schemas = lines.places(Lines.haveSameSchemas)
    let keyrings = lines.places { $0.keyring == $1.keyring }
    var mixes = [Lines.Mix(records: [:], state: 0, schemas: 0, keyring: 0)]
    for id in lines.ids {
      mixes = mixes.flatMap { mix in
        lines.versions(of: id).map { version in
          var mix = mix
          mix.records[id] = version
          return mix
        }
      }
    }
    var all: [Lines.Mix] = []
    for var mix in mixes {
      for state in states {
        for schema in schemas {
          for keyring in keyrings {
            (mix.state, mix.schemas, mix.keyring) = (state, schema, keyring)
            all.append(mix)
          }
        }
      }
    }
    #expect(all.count > 10_000)
    // Copies that parted wrote one record in transactions of one number.
    let revisions = lines.versions(of: a.bytes).compactMap { $0?.revision }
    #expect(Set(revisions).count < revisions.count)
    let moments = all.filter(lines.isMoment)
    #expect(moments.count > lines.moments.count)
    for mix in moments + TestEffort.sample(all, 2_000) {
      #expect(try lines.isSound(mix) == lines.isMoment(mix), "\(mix)")
    }
  }

  private static let seeds = TestEffort.seeds(4, of: 1_000, orOnly: "NOTELOG_MIX_SEED")

  /// Longer histories, and mixes that are one or two parts away from a moment.
  @Test(arguments: seeds)
  func `of mixes of a long history and a fork, the moments are sound and nothing else`(
    seed: UInt64
  ) throws {
    var random = SeededGenerator(mixing: seed, 54)
    let ids = (0..<8).map { _ in RecordID() }
    func steps(_ count: Int, _ name: String) -> [(Store) throws -> Void] {
      (0..<count).map { number in
        let (id, other) = (ids[random.pick(0..<8)], ids[random.pick(0..<8)])
        switch random.pick(0..<12) {
        case 0: return { store in try store.createKey("\(name) \(number)", .whenUnlocked) }
        case 1: return Self.step { tx in try tx.put(Longer(id: id, extra: number)) }
        case 2: return Self.step { tx in try tx.put(Other(id: id, more: name)) }
        case 3...5: return Self.step { tx in _ = try tx.delete(Item.self, id) }
        case 6: return { store in try store.compact() }
        default:
          return Self.step { tx in
            for id in [id, other] { try tx.put(Item(id: id, number: number, text: name)) }
          }
        }
      }
    }
    let first = Self.step { tx in for id in ids { try tx.put(Item(id: id)) } }
    let lines = try Lines([first] + steps(24, "one"), forkingAfter: random.pick(4..<20), steps(12, "two"))
    let versions = lines.ids.map { ($0, lines.versions(of: $0)) }
    var soundCount = 0
    for number in 0..<(TestEffort.isSoak ? 1_000 : 25) {
      func place() -> Int { random.pick(lines.moments.indices) }
      let start = place()
      var mix = Lines.Mix(
        records: lines.moments[start].records, state: start, schemas: start, keyring: start)
      for _ in 0..<random.pick(0..<3) {
        switch random.pick(0..<6) {
        case 0: mix.state = place()
        case 1: mix.schemas = place()
        case 2: mix.keyring = place()
        default:
          let (id, versions) = versions[random.pick(versions.indices)]
          mix.records[id] = versions[random.pick(versions.indices)]
        }
      }
      let isSound = try lines.isSound(mix)
      #expect(isSound == lines.isMoment(mix), "NOTELOG_MIX_SEED=\(seed), mix \(number)")
      if isSound { soundCount += 1 }
    }
    #expect(soundCount > 0)
  }
}
