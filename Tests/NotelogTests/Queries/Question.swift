// A random query, and the answer of somebody who knows no index.

import Foundation
import Notelog
import NotelogTestSupport

/// Conditions, an order and a limit, as a query and as closures over records.
struct Question {
  private(set) var query: Query<Sample>
  private(set) var limit: Int?
  private(set) var words: [String] = []
  private var conditions: [(Sample) -> Bool] = []
  /// For each field that the records are sorted by, whether one of two comes before the other.
  private var orders: [(Sample, Sample) -> Bool] = []
  var isSorted: Bool { !orders.isEmpty }

  init(_ query: Query<Sample>, _ random: inout SeededGenerator, mayOpen: Bool) {
    self.query = query
    for _ in 0..<random.pick(0..<4) { addCondition(&random, mayOpen: mayOpen) }
    for _ in 0..<[0, 1, 1, 2, 2, 3][random.pick(0..<6)] { addOrder(&random) }
    if random.oneIn(2) { add(limit: random.pick(0..<12)) }
    if random.oneIn(4) { self.query = self.query.parallel(random.pick(2..<4)) }
  }

  /// All records that satisfy the conditions, in order if there is one.
  func answer(_ content: some Sequence<Sample>) -> [RecordID] {
    let found = content.filter { sample in conditions.allSatisfy { $0(sample) } }
    return (isSorted ? found.sorted(by: precedes) : found).map(\.id)
  }

  private func precedes(_ left: Sample, _ right: Sample) -> Bool {
    for order in orders {
      if order(left, right) { return true }
      if order(right, left) { return false }
    }
    return left.id < right.id
  }

  // MARK: - Conditions

  private mutating func addCondition(_ random: inout SeededGenerator, mayOpen: Bool) {
    let name = Sample.names[random.pick(0..<Sample.names.count)]
    switch random.pick(0..<(mayOpen ? 14 : 12)) {
    case 0: add(\.flag, is: random.oneIn(2))
    case 1: add(\.count, is: random.pick(-45..<45))
    case 2: addRange(\.count, random.pick(-45..<45), random.pick(0..<12), &random) { $0 + $1 }
    case 3: add(\.ratio, is: Sample.ratios[random.pick(0..<Sample.ratios.count)])
    case 4: addRange(\.ratio, Double(random.pick(-3..<12)), Double(random.pick(0..<3)), &random) { $0 + $1 }
    case 5: add(\.moment, is: Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<60))))
    case 6:
      let start = Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<60)))
      addRange(\.moment, start, Double(random.pick(0..<9)), &random) { $0 + $1 }
    case 7: add(\.uuid, is: Sample.uuid(random.pick(0..<32)))
    case 8: add(\.priority, is: Priority.allCases[random.pick(0..<3)])
    case 9:
      query = query.where(\.priority, in: Priority.high...)
      add("priority from high") { $0.priority == .high || $0.priority == .urgent }
    case 10: addRange(\.small, UInt8(random.pick(0..<4)), UInt8(1), &random) { $0 + $1 }
    case 11: addText(name, &random)
    case 12:
      let title = "title \(random.pick(0..<9))"
      query = query.where(\.title, is: title)
      add("title is \(title)") { $0.title == title }
    default:
      query = query.filter(\.title) { $0 < "title 5" }
      add("title before 5") { $0.title < "title 5" }
    }
  }

  private mutating func addText(_ name: String, _ random: inout SeededGenerator) {
    let bytes = Array(name.utf8)
    let shown = name.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
    switch random.pick(0..<6) {
    case 0:
      query = query.where(\.perhaps, is: name)
      add("perhaps is \(shown)") { $0.perhaps.map { Array($0.utf8) } == bytes }
    case 1:
      query = query.where(\.name, in: name...)
      add("name from \(shown)") { !$0.name.utf8.lexicographicallyPrecedes(bytes) }
    case 2:
      query = query.where(\.name, in: ..<name)
      add("name before \(shown)") { $0.name.utf8.lexicographicallyPrecedes(bytes) }
    case 3:
      query = query.where(\.name, in: ...name)
      add("name through \(shown)") { !bytes.lexicographicallyPrecedes($0.name.utf8) }
    default:
      query = query.where(\.name, is: name)
      add("name is \(shown)") { Array($0.name.utf8) == bytes }
    }
  }

  private mutating func add<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<Sample, Value>, is value: Value
  ) {
    query = query.where(path, is: value)
    add("\(path) is \(value)") { $0[keyPath: path] == value }
  }

  private mutating func addRange<Value: Comparable & Sendable, Step>(
    _ path: FieldKeyPath<Sample, Value>, _ start: Value, _ step: Step, _ random: inout SeededGenerator,
    _ plus: (Value, Step) -> Value
  ) {
    let end = plus(start, step)
    switch random.pick(0..<5) {
    case 0:
      query = query.where(path, in: start...)
      add("\(path) in \(start)...") { $0[keyPath: path] >= start }
    case 1:
      query = query.where(path, in: ..<start)
      add("\(path) in ..<\(start)") { $0[keyPath: path] < start }
    case 2:
      query = query.where(path, in: ...start)
      add("\(path) in ...\(start)") { $0[keyPath: path] <= start }
    case 3:
      query = query.where(path, in: start..<end)
      add("\(path) in \(start)..<\(end)") { $0[keyPath: path] >= start && $0[keyPath: path] < end }
    default:
      query = query.where(path, in: start...end)
      add("\(path) in \(start)...\(end)") { $0[keyPath: path] >= start && $0[keyPath: path] <= end }
    }
  }

  private mutating func add(_ words: String, _ condition: @escaping (Sample) -> Bool) {
    self.words.append(words)
    conditions.append(condition)
  }

  // MARK: - Order

  private mutating func add(limit: Int) {
    query = query.limit(limit)
    words.append("limit \(limit)")
    self.limit = limit
  }

  private mutating func addOrder(_ random: inout SeededGenerator) {
    switch random.pick(0..<7) {
    case 0: sort(\.count, &random) { $0 < $1 }
    case 1: sort(\.ratio, &random) { $0 < $1 || $1.isNaN && !$0.isNaN }
    case 2: sort(\.name, &random) { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    case 3: sort(\.priority, &random) { $0 < $1 }
    case 4: sort(\.small, &random) { $0 < $1 }
    case 5:
      let isAscending = random.oneIn(2)
      query = query.sorted(by: \.perhaps, isAscending ? .ascending : .descending)
      add(\.perhaps, isAscending) { ($0.map { [1] + $0.utf8 } ?? [0]).lexicographicallyPrecedes($1.map { [1] + $0.utf8 } ?? [0]) }
    default: sort(\.moment, &random) { $0 < $1 }
    }
  }

  private mutating func sort<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<Sample, Value>, _ random: inout SeededGenerator,
    _ isLess: @escaping (Value, Value) -> Bool
  ) where Value: FieldValue {
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
