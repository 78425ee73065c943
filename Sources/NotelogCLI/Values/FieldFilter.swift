// `--where NAME=VALUE`: a condition on one field.
import Foundation
import Notelog

/// What must be so for a record to be listed.
struct FieldFilter: Sendable {
  let name: String
  let condition: QueryCondition<DynamicEntry>
  /// What it does that was perhaps not meant: a number is compared with text by its digits.
  let warning: String?

  /// Longer signs first, so that none is taken for a shorter one.
  private static let comparisons: [(sign: String, meaning: QueryComparison)] = [
    ("<=", .atMost), (">=", .atLeast), ("!=", .unequal), ("=", .equal), ("<", .less), (">", .greater),
  ]

  /// Understands `NAME=VALUE`, or another sign between them.
  init(_ text: String, in collection: DynamicCollection) throws {
    let signs = Self.comparisons.compactMap { sign, meaning in
      text.firstRange(of: sign).map { (sign: sign, range: $0, meaning: meaning) }
    }
    // Of the signs that begin first, the longest.
    guard
      let found = signs.min(by: {
        ($0.range.lowerBound, -$0.sign.count) < ($1.range.lowerBound, -$1.sign.count)
      }), found.range.lowerBound > text.startIndex
    else {
      throw ToolError.usage(
        "'\(text)' is no condition", hint: "a condition is NAME=VALUE, or with != < <= > >=")
    }
    name = String(text[..<found.range.lowerBound])
    let assignment = try Assignment(name + "=" + text[found.range.upperBound...])
    let value = try assignment.value(as: try collection.field(name).type)
    condition = try .field(name, found.meaning, value)
    let isOrder = found.meaning != .equal && found.meaning != .unequal
    warning =
      if isOrder, case .text(let text) = value, Double(text) != nil {
        "'\(name)' is text: \(found.sign) compares digit by digit, not as numbers"
      } else { nil }
  }
}
