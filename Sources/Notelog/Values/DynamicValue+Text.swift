// Dynamic values as text, for the command line and for dumps.

import Foundation

extension DynamicValue {
  /// Reads a value of a type from text.
  ///
  /// - Parameters:
  ///   - text: For bytes hexadecimal digits, for a UUID what a ``RecordID`` takes too, for a date ISO 8601 (`2026-01-31T09:00:00Z`, or the day alone) or `now`,
  ///     for the others what ``description`` shows.
  ///   - type: The field's type.
  /// - Throws: `invalidArgument`.
  public init(text: String, as type: FieldType) throws {
    let value: DynamicValue? =
      switch type {
      case .boolean: ["true": .boolean(true), "false": .boolean(false)][text]
      case .integer: Int64(text).map(Self.integer)
      case .unsigned: UInt64(text).map(Self.unsigned)
      case .double: Double(text).map(Self.double)
      case .text: .text(text)
      case .bytes: Self.parseHexadecimal(text).map(Self.bytes)
      case .date: Self.parseDate(text).map(Self.date)
      case .uuid: RecordID(text).map { .uuid($0.uuid) }
      case .url: URL(exactly: text).map(Self.url)
      case .json: JSONGrammar.holds(for: Array(text.utf8)) ? .json(Array(text.utf8)) : nil
      }
    // The text is not quoted: it may have been meant for a sealed field.
    guard let value else { throw NotelogError(.invalidArgument, "the text is not a \(type.name) value") }
    self = value
  }

  private static func parseHexadecimal(_ text: String) -> [UInt8]? {
    let digits = text.compactMap(\.hexDigitValue)
    guard digits.count == text.count, digits.count.isMultiple(of: 2) else { return nil }
    return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
  }

  private static func parseDate(_ text: String) -> Date? {
    if text == "now" { return Date() }
    let styles: [Date.ISO8601FormatStyle] = [
      .iso8601, Date.ISO8601FormatStyle(includingFractionalSeconds: true), .iso8601.year().month().day(),
    ]
    return styles.lazy.compactMap { try? $0.parse(text) }.first
  }
}

extension DynamicValue: CustomStringConvertible {
  /// The value as text: bytes in hexadecimal digits, dates in ISO 8601 with milliseconds and in UTC.
  public var description: String {
    switch self {
    case .missing: ""
    case .boolean(let value): String(value)
    case .integer(let value): String(value)
    case .unsigned(let value): String(value)
    case .double(let value): String(value)
    case .text(let value): value
    case .bytes(let value): value.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    case .date(let value): Self.format(value)
    case .uuid(let value): value.uuidString
    case .url(let value): value.absoluteString
    case .json(let value): String(decoding: value, as: UTF8.self)
    }
  }

  private static func format(_ date: Date) -> String {
    let seconds = date.timeIntervalSinceReferenceDate
    // The formatter knows the years 1 to 9999; what lies outside is shown as seconds.
    guard seconds.isFinite, abs(seconds) < 2e11, seconds > -6.3e10 else { return "\(seconds)" }
    return date.formatted(Date.ISO8601FormatStyle(includingFractionalSeconds: true))
  }
}
