// A random query, and the answer of somebody who knows no index.

import Foundation
import Notelog
import NotelogTestSupport

/// Conditions, an order and a limit, as a query and as closures over records.
struct Question {
  private(set) var query: Query<Sample>
  private(set) var limit: Int?
  private(set) var words: [String] = []
  /// Whether a condition opens a field.
  let mayOpen: Bool
  /// Whether it is asked of the store as it is, at any time.
  let isOfNow: Bool
  private var conditions: [(Sample) -> Bool] = []
  /// For each field that the records are sorted by, whether one of two comes before the other.
  private var orders: [(Sample, Sample) -> Bool] = []
  var isSorted: Bool { !orders.isEmpty }

  init(
    _ query: Query<Sample>, _ random: inout SeededGenerator, mayOpen: Bool, isOfNow: Bool, ids: [RecordID]?
  ) {
    self.query = query
    self.mayOpen = mayOpen
    self.isOfNow = isOfNow
    for _ in 0..<random.pick(0..<4) {
      let condition = RandomCondition(&random, depth: random.oneIn(2) ? 0 : 2, mayOpen: mayOpen)
      self.query = self.query.where(condition.condition)
      conditions.append(condition.holds)
      words.append(condition.words)
    }
    if let ids {
      self.query = self.query.where(\.id, in: ids)
      conditions.append { ids.contains($0.id) }
      words.append("one of \(ids.count) ids")
    }
    for _ in 0..<[0, 1, 1, 2, 2, 3][random.pick(0..<6)] { addOrder(&random) }
    if random.oneIn(2) { add(limit: random.pick(0..<12)) }
    if random.oneIn(4) { self.query = self.query.parallel(random.pick(2..<4)) }
  }

  /// All records that satisfy the conditions, in order if there is one; those that come after one, if it is
  /// given.
  func answer(_ content: some Sequence<Sample>, after last: Sample? = nil) -> [Sample] {
    let found = content.filter { sample in
      conditions.allSatisfy { $0(sample) } && last.map { precedes($0, sample) } ?? true
    }
    return isSorted ? found.sorted(by: precedes) : found
  }

  private func precedes(_ left: Sample, _ right: Sample) -> Bool {
    for order in orders {
      if order(left, right) { return true }
      if order(right, left) { return false }
    }
    return left.id < right.id
  }

  private mutating func add(limit: Int) {
    query = query.limit(limit)
    words.append("limit \(limit)")
    self.limit = limit
  }

  private mutating func addOrder(_ random: inout SeededGenerator) {
    switch random.pick(0..<8) {
    case 7: sort(\.id, &random) { $0 < $1 }
    case 0: sort(\.count, &random) { $0 < $1 }
    case 1: sort(\.ratio, &random) { $0 < $1 || $1.isNaN && !$0.isNaN }
    case 2: sort(\.name, &random) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    case 3: sort(\.priority, &random) { $0 < $1 }
    case 4: sort(\.small, &random) { $0 < $1 }
    case 5:
      let isAscending = random.oneIn(2)
      query = query.sorted(by: \.perhaps, isAscending ? .ascending : .descending)
      add(\.perhaps, isAscending) { left, right in
        (left.map { [1] + $0.utf8 } ?? [0]).lexicographicallyPrecedes(right.map { [1] + $0.utf8 } ?? [0])
      }
    default: sort(\.moment, &random) { $0 < $1 }
    }
  }

  private mutating func sort<Value: Comparable & FieldValue>(
    _ path: FieldKeyPath<Sample, Value>, _ random: inout SeededGenerator,
    _ isLess: @escaping (Value, Value) -> Bool
  ) {
    let isAscending = random.oneIn(2)
    query = query.sorted(by: path, isAscending ? .ascending : .descending)
    add(path, isAscending, isLess)
  }

  private mutating func add<Value>(
    _ path: FieldKeyPath<Sample, Value>, _ isAscending: Bool, _ isLess: @escaping (Value, Value) -> Bool
  ) {
    words.append("sorted by \(path), \(isAscending ? "ascending" : "descending")")
    orders.append { left, right in
      let (first, second) = isAscending ? (left, right) : (right, left)
      return isLess(first[keyPath: path], second[keyPath: path])
    }
  }
}
