// Moments as RFC 3339 text, without losing a bit of the double that the store keeps.
import Foundation

/// Seconds since 2001-01-01 00:00 UTC, to text and back.
enum Moment {
  /// `2026-11-20T10:38:43.25Z`, with as many decimals as bring the same double back; `nil` outside the years
  /// 0 to 9999, which RFC 3339 cannot say.
  static func text(_ seconds: Double) -> String? {
    guard seconds.isFinite, abs(seconds) < 1e15 else { return nil }
    let (whole, fraction) = ExactDecimal(seconds).split
    let (days, rest) = whole.quotientAndRemainder(flooringBy: secondsPerDay)
    let (year, month, day) = civil(daysSince2001: days)
    guard (0...9999).contains(year) else { return nil }
    let date = "\(padded(year, 4))-\(padded(month, 2))-\(padded(day, 2))"
    let time = "\(padded(rest / 3600, 2)):\(padded(rest / 60 % 60, 2)):\(padded(rest % 60, 2))"
    return date + "T" + time + (fraction.isEmpty ? "" : "." + fraction) + "Z"
  }

  /// Reads `2026-11-20`, `2026-11-20T10:38:43Z`, with decimals, a space for the T, or an offset for the Z;
  /// `nil` outside the years 0 to 9999 in UTC. There are no leap seconds.
  static func seconds(_ text: String) -> Double? {
    var scanner = MomentScanner(rest: text[...])
    guard let year = scanner.digits(4), scanner.accept("-"), let month = scanner.digits(2),
      scanner.accept("-"),
      let day = scanner.digits(2), (1...12).contains(month), (1...daysIn(month, of: year)).contains(day)
    else { return nil }
    let midnight = days(year, month, day) * secondsPerDay
    if scanner.rest.isEmpty { return Double(midnight) }
    guard scanner.accept("T") || scanner.accept("t") || scanner.accept(" "),
      let hour = scanner.digits(2), scanner.accept(":"), let minute = scanner.digits(2), scanner.accept(":"),
      let second = scanner.digits(2), hour < 24, minute < 60, second < 60
    else { return nil }
    var fraction = ""
    if scanner.accept(".") {
      fraction = scanner.allDigits()
      if fraction.isEmpty { return nil }
    }
    guard let offset = scanner.offset(), scanner.rest.isEmpty else { return nil }
    let whole = midnight + hour * 3600 + minute * 60 + second - offset
    guard years.contains(whole) else { return nil }
    // The nearest double to the last microseconds of the last year is the next year.
    return ExactDecimal(whole, fraction).double.map { min($0, Double(years.upperBound).nextDown) }
  }

  /// Now, to the millisecond: more digits would only be noise to read.
  static var now: Date {
    Date(timeIntervalSinceReferenceDate: (Date().timeIntervalSinceReferenceDate * 1000).rounded() / 1000)
  }

  // MARK: - Calendar

  private static let secondsPerDay = 86_400
  /// The seconds of the years 0 to 9999.
  private static let years = days(0, 1, 1) * secondsPerDay..<days(10_000, 1, 1) * secondsPerDay
  /// From 0000-03-01 to 2001-01-01.
  private static let epochDays = 730_791

  private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
    // Years that begin in March have their leap day at the end.
    let (marchYear, marchMonth) = month > 2 ? (year, month - 3) : (year - 1, month + 9)
    let era = marchYear.quotientAndRemainder(flooringBy: 400)
    let inEra = era.remainder * 365 + era.remainder / 4 - era.remainder / 100
    return era.quotient * 146_097 + inEra + (153 * marchMonth + 2) / 5 + day - 1 - epochDays
  }

  private static func civil(daysSince2001 days: Int) -> (year: Int, month: Int, day: Int) {
    let (era, inEra) = (days + epochDays).quotientAndRemainder(flooringBy: 146_097)
    let yearOfEra = (inEra - inEra / 1460 + inEra / 36_524 - inEra / 146_096) / 365
    let dayOfYear = inEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let marchMonth = (5 * dayOfYear + 2) / 153
    let month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
    let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
    return (year, month, dayOfYear - (153 * marchMonth + 2) / 5 + 1)
  }

  private static func daysIn(_ month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  private static func padded(_ number: Int, _ width: Int) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
  }
}

/// A number as whole part and decimals, so that both can be changed without rounding.
private struct ExactDecimal {
  /// Rounded down, and the digits after the point that lead up from it.
  var split: (whole: Int, fraction: String)

  init(_ whole: Int, _ fraction: String) { split = (whole, fraction) }

  /// The shortest decimal that reads back as `double`, which is finite and below 1e15.
  init(_ double: Double) {
    let parts = abs(double).description.split { $0 == "e" }
    let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
    let halves = parts[0].split(separator: ".")
    // Below 1e15 only small numbers are written with an exponent.
    var whole = exponent < 0 ? 0 : Int(halves[0]) ?? 0
    var fraction = halves.count > 1 && halves[1] != "0" ? String(halves[1]) : ""
    if exponent < 0 { fraction = String(repeating: "0", count: -exponent - 1) + halves[0] + fraction }
    if double < 0 { (whole, fraction) = Self.negated(whole, fraction) }
    split = (whole, fraction)
  }

  /// The nearest double.
  var double: Double? {
    let (whole, fraction) = split
    guard whole < 0 else { return Double("\(whole).\(fraction.isEmpty ? "0" : fraction)") }
    let (positive, rest) = Self.negated(whole, fraction)
    return Double("-\(positive).\(rest.isEmpty ? "0" : rest)")
  }

  /// `-(whole + 0.fraction)`, again as a whole part rounded down and a fraction that leads up from it.
  private static func negated(_ whole: Int, _ fraction: String) -> (Int, String) {
    let digits = fraction.utf8.map { Int($0) - 48 }
    guard let last = digits.lastIndex(where: { $0 != 0 }) else { return (-whole, "") }
    let complement = digits[...last].enumerated().map { $0 < last ? 9 - $1 : 10 - $1 }
    return (-whole - 1, complement.map(String.init).joined())
  }
}

/// Reads the pieces of a moment's text.
private struct MomentScanner {
  var rest: Substring

  mutating func accept(_ character: Character) -> Bool {
    guard rest.first == character else { return false }
    rest.removeFirst()
    return true
  }

  mutating func digits(_ count: Int) -> Int? {
    let digits = rest.prefix(count)
    guard digits.utf8.count == count, digits.utf8.allSatisfy({ (48...57).contains($0) }) else { return nil }
    rest = rest.dropFirst(count)
    return Int(digits)
  }

  mutating func allDigits() -> String {
    let digits = rest.prefix { $0.isASCII && $0.isNumber }
    rest = rest[digits.endIndex...]
    return String(digits)
  }

  /// `Z`, or `+01:30`, in seconds.
  mutating func offset() -> Int? {
    if accept("Z") || accept("z") { return 0 }
    let sign = accept("+") ? 1 : -1
    guard sign == 1 || accept("-"), let hours = digits(2), accept(":"), let minutes = digits(2), hours < 24,
      minutes < 60
    else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }
}

extension Int {
  /// The quotient rounded down, and a remainder that is never negative.
  fileprivate func quotientAndRemainder(flooringBy divisor: Int) -> (quotient: Int, remainder: Int) {
    let (quotient, remainder) = quotientAndRemainder(dividingBy: divisor)
    return remainder < 0 ? (quotient - 1, remainder + divisor) : (quotient, remainder)
  }
}
