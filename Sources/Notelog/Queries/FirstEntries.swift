// The first of a row that comes in any order.

/// The first elements in the order of their values, of those seen so far: no more than twice as many are kept as are wanted.
struct FirstEntries<Value: Sendable, Element: Sendable>: Sendable {
  private let limit: Int?
  private let compare: @Sendable (Value, Value) -> Precedence
  private var found: [(value: Value, id: RecordID, element: Element)] = []
  /// The last that is still among the first, once there are as many as are wanted.
  private var last: (value: Value, id: RecordID)?

  init(limit: Int?, by compare: @escaping @Sendable (Value, Value) -> Precedence) {
    self.limit = limit
    self.compare = compare
  }

  func accepts(_ value: Value, _ id: RecordID) -> Bool {
    guard let last else { return true }
    return isInOrder(value, id, last.value, last.id)
  }

  mutating func insert(_ value: Value, _ id: RecordID, _ element: Element) {
    found.append((value, id, element))
    // Sorting when twice as many have gathered costs O(log limit) a record.
    if let limit, found.count / 2 >= limit { cut(to: limit) }
  }

  mutating func merge(_ other: FirstEntries) { found += other.found }

  mutating func sorted() -> [Element] {
    cut(to: limit ?? found.count)
    // A key path would be made anew by the runtime for each call: it depends on the value's type.
    return found.map { $0.element }
  }

  private mutating func cut(to count: Int) {
    let isInOrder = isInOrder
    found.sort { isInOrder($0.value, $0.id, $1.value, $1.id) }
    if found.count > count { found.removeLast(found.count - count) }
    if limit == found.count { last = found.last.map { ($0.value, $0.id) } }
  }

  /// Whether a value comes before another; where neither does, the ids decide.
  private var isInOrder: (Value, RecordID, Value, RecordID) -> Bool {
    let compare = compare
    return { left, leftID, right, rightID in
      switch compare(left, right) {
      case .before: true
      case .after: false
      case .same: leftID < rightID
      }
    }
  }
}
