// `--where NAME=VALUE`: a condition on one field.
import Foundation
import Notelog

extension DynamicCollection {
  /// Longer signs first, so that none is taken for a shorter one.
  private static let comparisons: [(sign: String, meaning: QueryComparison)] = [
    ("<=", .atMost), (">=", .atLeast), ("!=", .unequal), ("=", .equal), ("<", .less), (">", .greater),
  ]

  /// Understands `NAME=VALUE`, or another sign between them, as what must be so for a record to be listed.
  ///
  /// - Returns: The field's name and the condition; and what it does that was perhaps not meant: a number is
  ///   compared with text by its digits.
  func condition(
    _ text: String
  ) throws -> (name: String, condition: QueryCondition<DynamicEntry>, warning: String?) {
    // Of the signs that begin first, the longest.
    let found = text.indices.lazy.compactMap { start in
      Self.comparisons.first { text[start...].hasPrefix($0.sign) }.map { (start, $0.sign, $0.meaning) }
    }.first
    guard let (start, sign, meaning) = found, start > text.startIndex else {
      throw ToolError.usage(
        "'\(text)' is no condition", hint: "a condition is NAME=VALUE, or with != < <= > >=")
    }
    let name = String(text[..<start])
    let assignment = try Assignment(name + "=" + text[start...].dropFirst(sign.count))
    let value = try assignment.value(as: try field(name).type)
    let condition = try QueryCondition<DynamicEntry>.field(name, meaning, value)
    guard meaning != .equal, meaning != .unequal, case .text(let text) = value, Double(text) != nil else {
      return (name, condition, nil)
    }
    return (name, condition, "'\(name)' is text: \(sign) compares digit by digit, not as numbers")
  }
}
