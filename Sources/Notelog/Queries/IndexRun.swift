// Which parts of indexes hold the records that a condition leaves.

/// The parts of an index in which records are that a query can find.
struct IndexRun: Sendable {
  let name: FieldIndexes.Name
  let index: OrderedIndex
  /// What is walked where that can't be read.
  let substitute: OrderSubstitute
  let ranges: IndexRanges
  /// How many entries are in them.
  let count: Int
  /// The conditions that led to the ranges, in words; they all hold.
  let bounds: [String]
  /// Whether entries that tie are of records that are equal in all that they are sorted by.
  private(set) var isExact = false

  init(
    _ name: FieldIndexes.Name, _ index: OrderedIndex, _ substitute: OrderSubstitute, _ narrowing: Narrowing?
  ) {
    self.name = name
    self.index = index
    self.substitute = substitute
    ranges = narrowing?.ranges ?? .all
    count = ranges.bounds.reduce(0) { $0 + index.count(in: $1) }
    bounds = narrowing?.words ?? []
  }

  /// What lies in some bounds, too.
  func within(_ bounds: IndexBounds?, isExact: Bool) -> IndexRun {
    let ranges = bounds.map { self.ranges.intersection(IndexRanges([$0])) } ?? ranges
    var run = IndexRun(name, index, substitute, Narrowing(ranges: ranges, words: self.bounds))
    run.isExact = isExact
    return run
  }

  /// What either run holds, of the same index.
  func union(_ other: IndexRun) -> IndexRun {
    let words = [bounds, other.bounds].map { $0.joined(separator: " and ") }.joined(separator: " or ")
    return IndexRun(name, index, substitute, Narrowing(ranges: ranges.union(other.ranges), words: [words]))
  }

  /// Calls `body` with the entries, ascending, until it returns false.
  func forEach(_ body: (OrderedEntry) throws -> Bool) throws {
    var goesOn = true
    for bounds in ranges.bounds where goesOn {
      try index.forEach(in: bounds, .ascending, substitute: substitute) { entry in
        goesOn = try body(entry)
        return goesOn
      }
    }
  }

  /// Calls `body` with groups of entries that tie, each in the order of ids, until it returns false.
  func forEachGroup(_ direction: SortDirection, _ body: (ArraySlice<OrderedEntry>) throws -> Bool) throws {
    var goesOn = true
    for step in 0..<ranges.bounds.count where goesOn {
      let bounds = ranges.bounds[direction == .ascending ? step : ranges.bounds.count - 1 - step]
      try index.forEachGroup(in: bounds, direction, substitute: substitute) { group in
        goesOn = try body(group)
        return goesOn
      }
    }
  }
}

/// What conditions leave of an index.
struct Narrowing: Sendable {
  /// Outside of these no record satisfies the conditions; inside, some may not.
  var ranges: IndexRanges
  /// The conditions; they all hold.
  var words: [String]
}

extension QueryCondition {
  /// What the condition leaves of an index by what it says of its first field; nil where it says nothing of the field.
  func narrowing(_ name: FieldIndexes.Name, _ reader: RecordReader<R>) -> Narrowing? {
    switch node {
    case .field(let condition):
      guard let (known, ranges, words) = reader.lookup(condition), known == name.first else { return nil }
      return Narrowing(ranges: IndexRanges(ranges.map { IndexBounds($0, of: name) }), words: [words])
    case .all(let conditions):
      return conditions.compactMap { $0.narrowing(name, reader) }.reduce(nil) { common, next in
        guard let common else { return next }
        return Narrowing(
          ranges: common.ranges.intersection(next.ranges), words: common.words + next.words)
      }
    case .any(let conditions):
      var all = Narrowing(ranges: IndexRanges([]), words: [])
      for condition in conditions {
        guard let narrowing = condition.narrowing(name, reader) else { return nil }
        all.ranges = all.ranges.union(narrowing.ranges)
        all.words.append(narrowing.words.joined(separator: " and "))
      }
      return Narrowing(ranges: all.ranges, words: [all.words.joined(separator: " or ")])
    case .notAll: return nil
    }
  }

  /// The indexes of fields that conditions are about, each once.
  func indexNames(_ reader: RecordReader<R>) -> [FieldIndexes.Name] {
    fields.reduce(into: []) { names, condition in
      guard let name = reader.lookup(condition)?.name, !names.contains(name) else { return }
      names.append(name)
    }
  }
}
