// Moments as RFC 3339 text, without losing a bit of the double that the store keeps.
import Foundation

/// Seconds since 2001-01-01 00:00 UTC, to text and back.
enum Moment {
  /// `2026-11-20T10:38:43.25Z`, with as many decimals as bring the same double back; `nil` outside the years
  /// 0 to 9999, which RFC 3339 cannot say.
  static func text(_ seconds: Double) -> String? {
    guard seconds.isFinite, abs(seconds) < 1e15 else { return nil }
    let (whole, fraction) = split(seconds)
    guard years.contains(whole) else { return nil }
    return SystemTime.text(at: whole + unixTimeOf2001) + (fraction.isEmpty ? "" : "." + fraction) + "Z"
  }

  /// Reads `2026-11-20`, `2026-11-20T10:38:43Z`, with decimals, a space for the T, or an offset for the Z;
  /// `nil` outside the years 0 to 9999 in UTC. There are no leap seconds.
  static func seconds(_ text: String) -> Double? {
    var rest = text.utf8[...]
    // The number of the next digits, behind one of some signs.
    func number(_ count: Int, after signs: String = "") -> Int? {
      if !signs.isEmpty { guard let sign = rest.popFirst(), signs.utf8.contains(sign) else { return nil } }
      let digits = rest.prefix(count)
      guard digits.count == count, digits.allSatisfy(isDigit) else { return nil }
      rest = rest.dropFirst(count)
      return Int(Substring(digits))
    }
    guard let year = number(4), let month = number(2, after: "-"), let day = number(2, after: "-"),
      let midnight = SystemTime.midnight(year, month, day).map({ $0 - unixTimeOf2001 })
    else { return nil }
    if rest.isEmpty { return Double(midnight) }
    guard let hour = number(2, after: "Tt "), let minute = number(2, after: ":"),
      let second = number(2, after: ":"), hour < 24, minute < 60, second < 60
    else { return nil }
    var fraction = Substring()
    if rest.first == UInt8(ascii: ".") {
      fraction = Substring(rest.dropFirst().prefix(while: isDigit))
      rest = rest.dropFirst(1 + fraction.utf8.count)
      if fraction.isEmpty { return nil }
    }
    var offset = 0
    switch rest.first {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): rest.removeFirst()
    case let sign:
      guard let hours = number(2, after: "+-"), let minutes = number(2, after: ":"), hours < 24, minutes < 60
      else { return nil }
      offset = (hours * 3600 + minutes * 60) * (sign == UInt8(ascii: "-") ? -1 : 1)
    }
    guard rest.isEmpty else { return nil }
    let whole = midnight + hour * 3600 + minute * 60 + second - offset
    guard years.contains(whole) else { return nil }
    // The nearest double to the last microseconds of the last year is the next year.
    return double(whole, String(fraction)).map { min($0, Double(years.upperBound).nextDown) }
  }

  private static let unixTimeOf2001 = 978_307_200

  private static func localOffset(_ seconds: Double) -> Double {
    Double(SystemTime.localOffset(at: Int(seconds.rounded(.down)) + unixTimeOf2001))
  }

  /// `2026-11-20 11:38`, to the minute or to the second; nil outside the years 0 to 9999.
  static func minute(_ seconds: Double, isUTC: Bool, withSeconds: Bool = false) -> String? {
    guard text(seconds) != nil else { return nil }
    let shown = text(seconds.rounded(.down) + (isUTC ? 0 : localOffset(seconds)))
    return shown.map { String($0.prefix(withSeconds ? 19 : 16)).replacing("T", with: " ") }
  }

  /// The year, month, day, minute or second that a text names, `2026-11` for instance. With `Z` or an offset
  /// it names a moment, and the range is empty.
  static func period(_ text: String, isUTC: Bool) -> Range<Double>? {
    let count = text.utf8.count
    let most = [4: 366 * secondsPerDay, 7: 31 * secondsPerDay, 10: secondsPerDay, 16: 60, 19: 1][count]
    func start(_ text: some StringProtocol) -> Double? {
      seconds(String(text) + "0000-01-01T00:00:00Z".suffix(20 - min(count, 20)))
    }
    guard let most, let first = start(text) else { return seconds(text).map { $0..<$0 } }
    // So much later it is the next one, if not its beginning.
    let next = Self.text(first + Double(most)).flatMap { start($0.prefix(count)) } ?? Double(years.upperBound)
    // Where clocks are put back, a local time is two moments; where they are put forward, it is none, and what
    // comes next is meant.
    func moments(_ local: Double) -> [Double] {
      if isUTC { return [local] }
      let day = Double(secondsPerDay)
      let both = [local - localOffset(local - day), local - localOffset(local + day)]
      let found = both.filter { $0 + localOffset($0) == local }
      return found.isEmpty ? [both[0]] : found
    }
    let beginning = moments(first).min() ?? first
    return beginning..<max(beginning, moments(next).max() ?? next)
  }

  private static func isDigit(_ byte: UInt8) -> Bool { (48...57).contains(byte) }

  /// Now, to the millisecond: more digits would only be noise to read.
  static var now: Date {
    Date(timeIntervalSinceReferenceDate: (Date().timeIntervalSinceReferenceDate * 1000).rounded() / 1000)
  }

  // MARK: - Calendar

  private static let secondsPerDay = 86_400
  /// The seconds of the years 0 to 9999.
  private static let years = -63_145_526_400..<252_423_993_600

  // MARK: - Decimals, so that nothing is rounded

  /// A double, which is finite and below 1e15: rounded down, and the digits after the point that lead up from
  /// it. They are those of the shortest decimal that reads back as the double.
  private static func split(_ double: Double) -> (whole: Int, fraction: String) {
    let parts = abs(double).description.split { $0 == "e" }
    let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    let halves = parts[0].split(separator: ".")
    // Below 1e15 only small numbers are written with an exponent.
    let whole = exponent < 0 ? 0 : Int(halves[0]) ?? 0
    var fraction = halves.count > 1 && halves[1] != "0" ? String(halves[1]) : ""
    if exponent < 0 { fraction = String(repeating: "0", count: -exponent - 1) + halves[0] + fraction }
    return double < 0 ? negated(whole, fraction) : (whole, fraction)
  }

  /// The nearest double to `whole + 0.fraction`.
  private static func double(_ whole: Int, _ fraction: String) -> Double? {
    let (positive, rest) = whole < 0 ? negated(whole, fraction) : (whole, fraction)
    return Double("\(whole < 0 ? "-" : "")\(positive).\(rest.isEmpty ? "0" : rest)")
  }

  /// `-(whole + 0.fraction)`, again as a whole part rounded down and a fraction that leads up from it.
  private static func negated(_ whole: Int, _ fraction: String) -> (whole: Int, fraction: String) {
    let digits = fraction.utf8.map { Int($0) - 48 }
    guard let last = digits.lastIndex(where: { $0 != 0 }) else { return (-whole, "") }
    let complement = digits[...last].enumerated().map { $0 < last ? 9 - $1 : 10 - $1 }
    return (-whole - 1, complement.map(String.init).joined())
  }
}
