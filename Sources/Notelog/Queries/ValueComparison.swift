// How queries compare values: as their types do, and text by its bytes (docs/format-derived.md 33).

import Foundation

/// Whether a query takes two values for the same.
struct ValueEquality<Value: Equatable & Sendable>: Sendable {
  let areEqual: @Sendable (Value, Value) -> Bool

  private init(_ areEqual: @escaping @Sendable (Value, Value) -> Bool) { self.areEqual = areEqual }

  init() {
    let text = ValueEquality<String> { $0.hasBytes(of: $1) }
    let optionalText = ValueEquality<String?> { left, right in
      guard let left, let right else { return left == nil && right == nil }
      return left.hasBytes(of: right)
    }
    self =
      text as? ValueEquality<Value> ?? optionalText as? ValueEquality<Value>
      ?? ValueEquality { $0 == $1 }
  }
}

/// The order of values in a query.
struct ValueOrder<Value: Sendable>: Sendable {
  let precedes: @Sendable (Value, Value) -> Bool
  /// Whether sort keys are in the same order as the values.
  let isThatOfKeys: Bool
}

extension ValueOrder where Value: Comparable {
  private init(_ precedes: @escaping @Sendable (Value, Value) -> Bool) {
    self.precedes = precedes
    isThatOfKeys = Self.isThatOfKeys
  }

  init() {
    let text = ValueOrder<String> { $0.utf8.lexicographicallyPrecedes($1.utf8) }
    // What is not equal to itself, as NaN, comes last.
    self =
      text as? ValueOrder<Value>
      ?? ValueOrder { left, right in left < right || (right != right && left == left) }
  }

  /// Whether sort keys are in the same order as the values. Types of an app's own compare as they like.
  static var isThatOfKeys: Bool { typesInOrderOfKeys.contains(ObjectIdentifier(Value.self)) }
}

extension ValueOrder {
  /// The order of optional values: nil comes first.
  init<Wrapped: Comparable & Sendable>() where Value == Wrapped? {
    let order = ValueOrder<Wrapped>()
    isThatOfKeys = order.isThatOfKeys
    precedes = { left, right in
      guard let right else { return false }
      guard let left else { return true }
      return order.precedes(left, right)
    }
  }
}

private let typesInOrderOfKeys = Set(
  [
    Int.self, Int8.self, Int16.self, Int32.self, Int64.self, UInt.self, UInt8.self, UInt16.self, UInt32.self,
    UInt64.self, Double.self, Float.self, String.self, Date.self, UUID.self, RecordID.self,
  ].map { (type: any Any.Type) in ObjectIdentifier(type) })

extension String {
  fileprivate func hasBytes(of other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}
