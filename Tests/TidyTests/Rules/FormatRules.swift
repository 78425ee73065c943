// FORMAT.md against the code and the tests.

enum FormatRules {
  // MARK: - Limits

  /// Each row of the table of limits is a constant of that name and value in the code, and each constant of
  /// an enum named `…Limits` is in the table.
  static func limitsAgree(format: File, sources: [File]) -> [Finding] {
    let table = limits(of: format)
    let all = sources.flatMap(constants)
    let constants = all.filter(\.isLimit)
    var findings: [Finding] = []
    if table.isEmpty {
      findings.append(Finding(path: format.path, line: 1, message: "there is no table of limits"))
    }
    for (name, value, line) in table {
      // A name may serve elsewhere too: outside the enums of limits, one constant of that value is enough.
      let limits = constants.filter { $0.name == name }
      let others = all.filter { $0.name == name }
      if limits.isEmpty, value != nil, others.contains(where: { $0.value == value }) { continue }
      let same = limits.isEmpty ? others : limits
      if same.isEmpty {
        findings.append(Finding(path: format.path, line: line, message: "\(name) is not in the code"))
      }
      for constant in same where constant.value == nil || constant.value != value {
        let values =
          "\(value.map(String.init) ?? "?") here, \(constant.value.map(String.init) ?? "?") in the code"
        findings.append(Finding(path: format.path, line: line, message: "\(name) is \(values)"))
      }
    }
    let known = Set(table.map(\.name))
    for constant in constants where !known.contains(constant.name) {
      findings.append(
        Finding(
          path: constant.path, line: constant.line, message: "\(constant.name) is not in FORMAT.md's limits"))
    }
    return findings
  }

  /// The rows `| name | value | …` of the part "Limits"; a limit may have several names in the code.
  static func limits(of format: File) -> [(name: String, value: Int?, line: Int)] {
    var isChapter = false
    var rows: [(name: String, value: Int?, line: Int)] = []
    for (index, line) in format.lines.enumerated() {
      if line.hasPrefix("# ") { isChapter = line == "# Limits" }
      guard isChapter, line.hasPrefix("|") else { continue }
      let cells = line.split(separator: "|").map { $0.trimmed(" `") }
      guard cells.count >= 2, cells[0] != "name", !cells[0].allSatisfy({ $0 == "-" || $0 == ":" }) else {
        continue
      }
      for name in cells[0].split(separator: ",") {
        rows.append((String(name.trimmed(" `")), Arithmetic.value(of: String(cells[1])), index + 1))
      }
    }
    return rows
  }

  /// A `static let` of the code.
  struct Constant {
    var name: String
    /// `nil` where it is no number, or not written as plain arithmetic.
    var value: Int?
    /// Whether it stands in an enum whose name ends in `Limits`.
    var isLimit: Bool
    var path: String
    var line: Int
  }

  static func constants(_ file: File) -> [Constant] {
    var found: [Constant] = []
    var isLimits = false
    for (index, line) in file.code.enumerated() {
      if line.contains("enum "),
        let name = line.split(separator: " ").drop(while: { $0 != "enum" }).dropFirst().first
      {
        isLimits = name.hasSuffix("Limits")
      } else if line.hasPrefix("}") {
        isLimits = false
      }
      // A constant that other modules inline is a property with a getter; what only repeats another is none.
      guard let declaration = line.firstRange(of: "static let ") ?? line.firstRange(of: "static var ") else {
        continue
      }
      let sides = line[declaration.upperBound...].trimmed(" }").split(maxSplits: 1) { $0 == "=" || $0 == "{" }
      guard sides.count == 2, line.contains("static let ") || Arithmetic.value(of: String(sides[1])) != nil
      else { continue }
      let name = sides[0].split(separator: ":")[0].trimmed(" ")
      found.append(
        Constant(
          name: String(name), value: Arithmetic.value(of: String(sides[1])), isLimit: isLimits,
          path: file.path,
          line: index + 1))
    }
    return found
  }

  // MARK: - Invariants

  /// Each invariant that FORMAT.md numbers is cited by a test, and each that a test cites is in FORMAT.md.
  static func invariantsAreCited(format: File, tests: [File]) -> [Finding] {
    let chapters = format.lines.enumerated().flatMap { index, line in
      line.hasPrefix("- **INV-") ? names(in: line).prefix(1).map { (name: $0, line: index + 1) } : []
    }
    let defined = Set(chapters.map(\.name))
    var cited: Set<String> = []
    var findings: [Finding] = []
    for test in tests {
      for (index, line) in test.lines.enumerated() {
        for name in names(in: line) {
          cited.insert(name)
          if !defined.contains(name) {
            findings.append(Finding(path: test.path, line: index + 1, message: "\(name) is not in FORMAT.md"))
          }
        }
      }
    }
    for (name, line) in chapters where !cited.contains(name) {
      findings.append(Finding(path: format.path, line: line, message: "\(name) is cited by no test"))
    }
    for (first, second) in zip(
      chapters.sorted { $0.name < $1.name }, chapters.sorted { $0.name < $1.name }.dropFirst())
    where first.name == second.name {
      findings.append(
        Finding(path: format.path, line: second.line, message: "\(first.name) is defined twice"))
    }
    return findings
  }

  private static func names(in line: String) -> [String] {
    line.split(separator: "INV-", omittingEmptySubsequences: false).dropFirst().compactMap { rest in
      let letters = rest.prefix { $0.isASCII && $0.isUppercase }
      let digits = rest[letters.endIndex...].prefix { $0.isASCII && $0.isNumber }
      return letters.isEmpty || digits.isEmpty ? nil : "INV-\(letters)\(digits)"
    }
  }
}

extension StringProtocol {
  /// Without the characters of `set` at both ends.
  func trimmed(_ set: String) -> SubSequence {
    let start = drop { set.contains($0) }
    return start[
      ..<(start.lastIndex { !set.contains($0) }.map { start.index(after: $0) } ?? start.startIndex)]
  }
}

/// The arithmetic that constants are written in.
enum Arithmetic {
  /// `4096`, `4_096`, `4,096`, `0x10`, `16 << 20`, `16 * 1024`, `512 + 8`, `2^40`, `64 KiB`; `nil` for all
  /// else.
  static func value(of text: String) -> Int? {
    let plain = text.replacing("KiB", with: "* 1024").replacing("MiB", with: "* 1048576")
      .replacing("GiB", with: "* 1073741824").replacing("bytes", with: "").replacing("_", with: "")
      .replacing(",", with: "").trimmed(" ")
    for (sign, apply) in operators {
      guard let range = plain.ranges(of: sign).last else { continue }
      guard let left = value(of: String(plain[..<range.lowerBound])),
        let right = value(of: String(plain[range.upperBound...]))
      else { return nil }
      return apply(left, right)
    }
    return plain.hasPrefix("0x") ? Int(plain.dropFirst(2), radix: 16) : Int(plain)
  }

  /// The loosest first.
  private static let operators: [(String, @Sendable (Int, Int) -> Int?)] = [
    ("+", { checked($0.addingReportingOverflow($1)) }),
    ("-", { checked($0.subtractingReportingOverflow($1)) }),
    ("*", { checked($0.multipliedReportingOverflow(by: $1)) }),
    ("<<", { $1 < 63 && $0 < 1 << (62 - $1) ? $0 << $1 : nil }),
    ("^", { $0 == 2 && (0..<63).contains($1) ? 1 << $1 : nil }),
  ]

  private static func checked(_ result: (partialValue: Int, overflow: Bool)) -> Int? {
    result.overflow ? nil : result.partialValue
  }
}
