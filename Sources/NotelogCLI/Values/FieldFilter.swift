// `--where NAME=VALUE`: a condition on one field.
import Foundation
import Notelog

/// What must be so for a record to be listed.
struct FieldFilter: Sendable {
  let name: String
  private let comparison: Comparison
  private let value: DynamicValue

  private enum Comparison: String, CaseIterable, Sendable {
    // Longer signs first, so that none is taken for a shorter one.
    case atMost = "<="
    case atLeast = ">="
    case unequal = "!="
    case equal = "="
    case less = "<"
    case more = ">"
  }

  /// Understands `NAME=VALUE`, or another sign between them.
  init(_ text: String, in collection: DynamicCollection) throws {
    let signs = Comparison.allCases.compactMap { sign in
      text.firstRange(of: sign.rawValue).map { (sign: sign, range: $0) }
    }
    // Of the signs that begin first, the longest.
    guard
      let found = signs.min(by: {
        ($0.range.lowerBound, -$0.sign.rawValue.count) < ($1.range.lowerBound, -$1.sign.rawValue.count)
      }), found.range.lowerBound > text.startIndex
    else {
      throw ToolError.usage(
        "'\(text)' is no condition", hint: "a condition is NAME=VALUE, or with != < <= > >=")
    }
    name = String(text[..<found.range.lowerBound])
    comparison = found.sign
    let assignment = try Assignment(name + "=" + text[found.range.upperBound...])
    value = try assignment.value(as: try collection.field(name).type)
  }

  /// What it does that was perhaps not meant: a number is compared with text by its digits.
  var warning: String? {
    let isOrder = comparison != .equal && comparison != .unequal
    guard isOrder, case .text(let text) = value, Double(text) != nil else { return nil }
    return "'\(name)' is text: \(comparison.rawValue) compares digit by digit, not as numbers"
  }

  /// Whether the condition holds; a sealed field is opened for it.
  func holds(for entry: DynamicEntry) throws -> Bool {
    let found = try entry.value(name)
    switch comparison {
    case .equal: return found.isSame(as: value)
    case .unequal: return !found.isSame(as: value)
    case .less: return found.precedes(value) == true
    case .more: return value.precedes(found) == true
    case .atMost: return found.isSame(as: value) || found.precedes(value) == true
    case .atLeast: return found.isSame(as: value) || value.precedes(found) == true
    }
  }
}

extension DynamicValue {
  /// Whether both are equal, text by its bytes, as in the library's queries.
  fileprivate func isSame(as other: DynamicValue) -> Bool {
    guard case .text(let left) = self, case .text(let right) = other else { return self == other }
    return left.utf8.elementsEqual(right.utf8)
  }

  /// Whether the value comes before another of its type; `nil` where they have no order.
  fileprivate func precedes(_ other: DynamicValue) -> Bool? {
    switch (self, other) {
    case (.integer(let left), .integer(let right)): left < right
    case (.unsigned(let left), .unsigned(let right)): left < right
    case (.double(let left), .double(let right)): left < right
    case (.date(let left), .date(let right)): left < right
    case (.text(let left), .text(let right)): left.utf8.lexicographicallyPrecedes(right.utf8)
    case (.url(let left), .url(let right)): left.absoluteString < right.absoluteString
    case (.bytes(let left), .bytes(let right)): left.lexicographicallyPrecedes(right)
    case (.uuid(let left), .uuid(let right)): left.uuidString < right.uuidString
    case (.boolean(let left), .boolean(let right)): !left && right
    default: nil
    }
  }
}
