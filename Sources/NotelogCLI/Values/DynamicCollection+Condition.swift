// `--where CONDITION` and `--or CONDITION`: what must be so for a record to be listed.
import Foundation
import Notelog

extension DynamicCollection {
  typealias Condition = QueryCondition<DynamicEntry>

  /// Longer signs first, so that none is taken for a shorter one.
  private static let comparisons: [(sign: String, meaning: QueryComparison)] = [
    ("<=", .atMost), (">=", .atLeast), ("!=", .unequal), ("=", .equal), ("<", .less), (">", .greater),
  ]

  /// Understands `NAME=VALUE`, or another sign between them, `NAME in RANGE`, `NAME contains TEXT`, `NAME is none` and `NAME is not none`.
  ///
  /// - Returns: The field's name and the condition.
  func condition(_ text: String, isUTC: Bool) throws -> (name: String, condition: Condition) {
    // The longest name first, so that none is taken for a shorter one.
    for field in fieldsInUse.sorted(by: { $0.name.utf8.count > $1.name.utf8.count })
    where text.utf8.starts(with: field.name.utf8) {
      let rest = String(Substring(text.utf8.dropFirst(field.name.utf8.count)))
      if let condition = try condition(on: field, rest, isUTC) { return (field.name, condition) }
    }
    let name = text.prefix { !"=<>!".contains($0) }
    if name.count < text.count, !name.isEmpty { _ = try field(name.trimmingCharacters(in: .whitespaces)) }
    throw ToolError.usage(
      "'\(text)' is no condition",
      hint:
        "a condition is NAME=VALUE, or with != < <= > >=, NAME in FROM..TO, NAME contains TEXT, NAME is none, NAME is not none"
    )
  }

  /// Understands what stands behind a field's name; nil where it is no condition.
  private func condition(on field: FieldInfo, _ text: String, _ isUTC: Bool) throws -> Condition? {
    switch text {
    case " is none", " is null": return try .field(field.name, .equal, .missing)
    case " is not none", " is not null": return try .field(field.name, .unequal, .missing)
    default: break
    }
    if text.hasPrefix(" contains "), field.type == .text {
      return .field(field.name, contains: String(text.dropFirst(10)), ignoringCaseAndAccents: true)
    }
    if text.hasPrefix(" in ") {
      let range = text.dropFirst(4)
      guard let dots = range.range(of: "..") else { return try compare(field, .equal, range, isUTC) }
      let (from, to) = (range[..<dots.lowerBound], range[dots.upperBound...])
      if from.isEmpty { return to.isEmpty ? nil : try compare(field, .atMost, to, isUTC) }
      let isFrom = try compare(field, .atLeast, from, isUTC)
      return to.isEmpty ? isFrom : try isFrom && compare(field, .atMost, to, isUTC)
    }
    let rest = text.drop { $0 == " " }
    guard let (sign, meaning) = Self.comparisons.first(where: { rest.hasPrefix($0.sign) }) else { return nil }
    let value = rest.dropFirst(sign.count)
    // A blank on both sides of the sign is none of the value.
    let isSpaced = text.hasPrefix(" ") && value.hasPrefix(" ")
    return try compare(field, meaning, isSpaced ? value.dropFirst() : value, isUTC)
  }

  private func compare(
    _ field: FieldInfo, _ meaning: QueryComparison, _ text: Substring, _ isUTC: Bool
  ) throws -> Condition {
    let (name, text) = (field.name, String(text))
    if field.type == .date, let period = Moment.period(text, isUTC: isUTC), !period.isEmpty {
      let (start, end) = (DynamicValue.date(period.lowerBound), DynamicValue.date(period.upperBound))
      switch meaning {
      case .equal: return try .field(name, .atLeast, start) && .field(name, .less, end)
      case .unequal: return try !(.field(name, .atLeast, start) && .field(name, .less, end))
      case .less, .atLeast: return try .field(name, meaning, start)
      case .atMost: return try .field(name, .less, end)
      case .greater: return try .field(name, .atLeast, end)
      }
    }
    let value = try field.type.value(typed: text, for: name)
    guard case .text(let text) = value, let number = Double(text), meaning != .equal, meaning != .unequal
    else {
      return try .field(name, meaning, value)
    }
    return .field(name) { value in
      guard case .text(let other) = value else { return false }
      let order = Double(other).map { ($0 < number, $0 == number) }
      let (isLess, isEqual) = order ?? (other.utf8.lexicographicallyPrecedes(text.utf8), false)
      switch meaning {
      case .less: return isLess
      case .atMost: return isLess || isEqual
      case .greater: return !isLess && !isEqual
      default: return !isLess
      }
    }
  }
}
