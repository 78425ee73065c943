// The bounds of a range of values, which a range expression keeps to itself.

/// From where to where a range goes.
struct ValueRange<Value: Comparable & Sendable>: Sendable {
  let lower: Value?
  let upper: Value?
  let includesUpper: Bool

  /// Takes the bounds of one of the standard library's ranges; nil for any other.
  init?(_ range: some RangeExpression<Value>) {
    switch range {
    case let range as ClosedRange<Value>:
      (lower, upper, includesUpper) = (range.lowerBound, range.upperBound, true)
    case let range as Range<Value>:
      (lower, upper, includesUpper) = (range.lowerBound, range.upperBound, false)
    case let range as PartialRangeFrom<Value>: (lower, upper, includesUpper) = (range.lowerBound, nil, true)
    case let range as PartialRangeThrough<Value>:
      (lower, upper, includesUpper) = (nil, range.upperBound, true)
    case let range as PartialRangeUpTo<Value>: (lower, upper, includesUpper) = (nil, range.upperBound, false)
    default: return nil
    }
  }

  /// Whether a value is in the range, in an order that may be another than the type's.
  func contains(_ value: Value, in order: ValueOrder<Value>) -> Bool {
    if let lower, order.precedes(value, lower) { return false }
    guard let upper else { return true }
    return includesUpper ? !order.precedes(upper, value) : order.precedes(value, upper)
  }
}
