// The first of a row that comes in any order.

/// The first elements in the order of their values, of those seen so far: no more than twice as many are kept as are wanted.
struct FirstEntries<Value: Sendable, Element: Sendable>: Sendable {
  private let direction: SortDirection
  private let limit: Int?
  private let precedes: @Sendable (Value, Value) -> Bool
  private var found: [(value: Value, id: RecordID, element: Element)] = []
  /// The last that is still among the first, once there are as many as are wanted.
  private var last: (value: Value, id: RecordID)?

  init(
    _ direction: SortDirection, limit: Int?, by precedes: @escaping @Sendable (Value, Value) -> Bool
  ) {
    self.direction = direction
    self.limit = limit
    self.precedes = precedes
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
    let (precedes, isAscending) = (precedes, direction == .ascending)
    return { left, leftID, right, rightID in
      if precedes(left, right) { return isAscending }
      if precedes(right, left) { return !isAscending }
      return leftID < rightID
    }
  }
}
