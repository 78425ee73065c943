// The ordered indexes of an open store: made when they are first needed, kept up to date by every commit.

import NotelogBase
import NotelogFormat
import NotelogStorage

/// Ordered indexes over indexed plain fields.
///
/// An index says which records *had* a key: entries are added before a commit and never taken away, so that a
/// reader misses nothing that is committed, whatever other threads do. Whoever reads an entry reads the
/// record too, and passes over it if its key is another by now. When too many are passed over, the index is
/// made again.
final class FieldIndexes: Sendable {
  /// A field of a collection.
  typealias Name = OrderName

  /// A key that a record is about to have in a field; none where the record lacks it. Those of one record
  /// follow each other, in ascending order of fields.
  struct Addition: Sendable {
    /// The field.
    let name: Name
    let entry: OrderedEntry?
    /// How long the key is.
    let keyByteCount: Int

    /// A key that there is.
    init(_ name: Name, key: RawSpan, _ id: RecordID) {
      self.name = name
      entry = OrderedEntry(key: key, id)
      keyByteCount = key.byteCount
    }

    /// A key that there is not.
    init(lacking name: Name) {
      self.name = name
      entry = nil
      keyByteCount = 0
    }
  }

  /// An index, and the first moment that it knows all keys of.
  struct Made: Sendable {
    var index: OrderedIndex
    let since: UInt64
    /// Whether the checkpoint holds it, but for what came after.
    var isStored: Bool

    func store(as name: Name, in journal: Journal) throws(NotelogError) {
      try journal.storeOrder(name, since: since) { writer throws(NotelogError) in
        try index.write(to: &writer)
      }
    }
  }

  private struct State {
    var indexes: [Name: Made] = [:]
    /// The additions of commits that are under way.
    var underWay: [UInt64: [Addition]] = [:]
    var nextTicket: UInt64 = 0
    /// Fields that some record lacks: what has their initial value can't be found by an index.
    var incomplete: Set<Name> = []
    /// Indexes that are made from the records, whatever lies in the checkpoint.
    var distrusted: Set<Name> = []
    /// How often records changed that nobody can name.
    var gapCount = 0
    /// What was added while an index was being made.
    var pending: [Name: [OrderedEntry]] = [:]
    /// Those of two fields that were ever made.
    var pairs: Set<Name> = []

    /// Takes in an addition to an index; nothing where a record lacks the field.
    mutating func add(_ entry: OrderedEntry?, to name: Name) {
      guard let entry else {
        incomplete.insert(name)
        indexes[name] = nil
        return
      }
      pending[name]?.append(entry)
      if indexes[name]?.index.insert(entry) == false { distrust(name) }
    }

    mutating func distrust(_ name: Name) {
      distrusted.insert(name)
      indexes[name] = nil
    }
  }

  private let state = Lock(State())
  /// Held while an index is made: one at a time.
  private let making = Lock(())

  /// The index of a field, as it is now; nil where there is none yet.
  func index(_ name: Name) -> Made? { state.withLock { $0.indexes[name] } }

  private func isIncomplete(_ name: Name) -> Bool { state.withLock { $0.incomplete.contains(name) } }

  /// Takes in what is about to be committed.
  ///
  /// - Returns: A ticket for ``end(_:)``, once the commit has succeeded or failed.
  func begin(_ additions: [Addition]) -> UInt64 {
    state.withLock { state in
      for addition in additions { state.add(addition.entry, to: addition.name) }
      for name in state.pairs where state.indexes[name] != nil || state.pending[name] != nil {
        for entry in name.entries(in: additions) { state.add(entry, to: name) }
      }
      defer { state.nextTicket += 1 }
      state.underWay[state.nextTicket] = additions
      return state.nextTicket
    }
  }

  /// Notes that a commit is over.
  func end(_ ticket: UInt64) { state.withLock { $0.underWay[ticket] = nil } }

  /// Makes an index of what `build` finds, and keeps it from then on.
  ///
  /// What is committed meanwhile is in it too: it was under way when we began, or began after us, and if
  /// neither then what is built has it.
  ///
  /// - Parameters:
  ///   - name: The field.
  ///   - build: Called to build it, from what is stored where that may be used. It returns nil where a record
  ///     lacks the field.
  /// - Returns: nil where a record lacks the field.
  /// - Throws: What `build` throws.
  func make(_ name: Name, _ build: (_ mayUseStored: Bool) throws -> Made?) throws -> Made? {
    try making.withLock { _ in
      if let index = index(name) { return index }
      state.withLock { state in
        if name.second != nil { state.pairs.insert(name) }
        state.pending[name] = []
        for additions in state.underWay.values {
          for entry in name.entries(in: additions) { state.add(entry, to: name) }
        }
      }
      defer { state.withLock { state in state.pending[name] = nil } }
      while true {
        let (mayUseStored, gapCount) = state.withLock { (!$0.distrusted.contains(name), $0.gapCount) }
        let built = isIncomplete(name) ? nil : try build(mayUseStored)
        if let made = adopt(built, name, gapCount) { return made.isComplete ? made.index : nil }
      }
    }
  }

  /// Takes in an index that was built, and what came meanwhile; nothing where that can't be done.
  private func adopt(_ built: Made?, _ name: Name, _ gapCount: Int) -> (isComplete: Bool, index: Made?)? {
    state.withLock { state in
      if gapCount != state.gapCount { return nil }
      guard var built, !state.incomplete.contains(name) else {
        state.incomplete.insert(name)
        return (false, nil)
      }
      for entry in state.pending[name] ?? [] where !built.index.insert(entry) {
        state.distrust(name)
        return nil
      }
      state.indexes[name] = built
      return (true, built)
    }
  }

  /// Forgets an index of which a part can't be read, or too much is no longer so, and has it made from the
  /// records.
  func distrust(_ name: Name) { state.withLock { state in state.distrust(name) } }
}

extension FieldIndexes: OrderKeeper {
  func begin(_ frames: [PendingFrame], _ bytes: RawSpan) -> UInt64 {
    var additions: [Addition] = []
    let known = state.withLock { state in Set(state.indexes.keys).union(state.pending.keys) }
    for frame in frames where frame.header.kind == .record {
      let start = frame.start + Layout.frameHeaderByteCount
      let envelope = bytes.extracting(start..<start + frame.envelopeByteCount)
      let id = RecordID(frame.header.id)
      var fields: Set<UInt16> = []
      Envelope.forEachSortKey(in: envelope) { field, key in
        fields.insert(field)
        let name = Name(collection: frame.header.collection, field: field)
        additions.append(Addition(name, key: envelope.extracting(key), id))
      }
      for name in known where name.collection == frame.header.collection {
        for field in name.fields where !fields.contains(field) {
          additions.append(Addition(lacking: Name(collection: name.collection, field: field)))
        }
      }
    }
    return begin(additions)
  }

  func distrustAll() {
    state.withLock { state in
      state.gapCount += 1
      for name in Set(state.indexes.keys).union(state.pending.keys) { state.distrust(name) }
    }
  }

  var unstored: [Name] { state.withLock { $0.indexes.filter { !$0.value.isStored }.map(\.key) } }

  func storeUnstored(of journal: Journal) {
    for (name, made) in state.withLock({ $0.indexes }) where !made.isStored {
      // Whatever comes of it, it is not tried again before there is another checkpoint.
      defer { noteStored(name, isNew: false) }
      try? made.store(as: name, in: journal)
    }
  }

  func storeAll(of journal: Journal, carrying carried: [StoredOrder]) {
    let kept = state.withLock { $0.indexes }
    for (name, made) in kept {
      defer { noteStored(name, isNew: true) }
      try? made.store(as: name, in: journal)
    }
    for order in carried where kept[order.name] == nil {
      let made = try? journal.index(of: order.name, from: order, at: journal.snapshot())
      try? made?.store(as: order.name, in: journal)
    }
  }

  /// Notes that the checkpoint holds an index. Where that is a new one, what is in memory is let go: little
  /// of it is needed, and some of it may be in the file of the one before.
  private func noteStored(_ name: Name, isNew: Bool) {
    state.withLock { state in
      state.indexes[name]?.isStored = true
      if isNew { state.indexes[name] = nil }
      state.distrusted.remove(name)
    }
  }
}

extension OrderName {
  /// The entries of an order that additions come to; nil for a record that lacks a field.
  fileprivate func entries(in additions: [FieldIndexes.Addition]) -> [OrderedEntry?] {
    guard let second else { return additions.lazy.filter { $0.name == self }.map(\.entry) }
    var entries: [OrderedEntry?] = []
    var other: FieldIndexes.Addition?
    let (lower, upper) = (min(field, second.field), max(field, second.field))
    for addition in additions
    where addition.name.collection == collection && fields.contains(addition.name.field) {
      guard let entry = addition.entry else {
        entries.append(nil)
        continue
      }
      if addition.name.field == lower { other = addition }
      guard addition.name.field == upper, let other, let before = other.entry, before.id == entry.id else {
        continue
      }
      let keys = (before.key(byteCount: other.keyByteCount), entry.key(byteCount: addition.keyByteCount))
      let key = lower == field ? key(keys.0.rawSpan, keys.1.rawSpan) : key(keys.1.rawSpan, keys.0.rawSpan)
      entries.append(OrderedEntry(key: key.rawSpan, entry.id))
    }
    return entries
  }
}

// MARK: - What is walked in the place of those parts of an index that turn out to be unreadable.

/// An index that is made when it is first asked for.
final class OrderSubstitute: Sendable {
  private let made = Lock<OrderedIndex?>(nil)
  private let make: @Sendable () throws -> OrderedIndex

  init(_ make: @escaping @Sendable () throws -> OrderedIndex) { self.make = make }

  /// The index; whoever else asks for it meanwhile waits.
  func index() throws -> OrderedIndex {
    try made.withLock { made in
      if let made { return made }
      let index = try make()
      made = index
      return index
    }
  }
}
