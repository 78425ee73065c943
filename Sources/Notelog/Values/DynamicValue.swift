// A field's value where no record type is at hand: in the tool, in a dump.

public import Foundation
import NotelogBase

/// A value of any type that a field can have.
public enum DynamicValue: Hashable, Sendable, CustomStringConvertible {
  /// No value, of an optional field.
  case missing
  /// A truth value.
  case boolean(Bool)
  /// A signed integer.
  case integer(Int64)
  /// An unsigned integer.
  case unsigned(UInt64)
  /// A double.
  case double(Double)
  /// Text.
  case text(String)
  /// Bytes.
  case bytes([UInt8])
  /// A moment.
  case date(Date)
  /// A UUID.
  case uuid(UUID)
  /// A URL.
  case url(URL)
  /// A JSON document in UTF-8.
  case json([UInt8])

  /// The value's type; nil for ``missing``.
  public var type: FieldType? {
    switch self {
    case .missing: nil
    case .boolean: .boolean
    case .integer: .integer
    case .unsigned: .unsigned
    case .double: .double
    case .text: .text
    case .bytes: .bytes
    case .date: .date
    case .uuid: .uuid
    case .url: .url
    case .json: .json
    }
  }

  /// What a field keeps of it; nil where there is no value.
  private func stored() throws -> (any StoredValue)? {
    switch self {
    case .missing: nil
    case .boolean(let value): value
    case .integer(let value): value
    case .unsigned(let value): value
    case .double(let value): value
    case .text(let value): value
    case .bytes(let value): value
    case .date(let value): value
    case .uuid(let value): value
    case .url(let value): try value.stored
    case .json(let value): try EncodedJSON(utf8: value)
    }
  }

  /// Appends the value as a field of this type keeps it.
  func store(as type: FieldType, isOptional: Bool, into scratch: inout Buffer) throws(NotelogError) {
    let stored: (any StoredValue)?
    do { stored = try self.stored() } catch { throw NotelogError(ours: error) }
    guard let stored else {
      guard isOptional else {
        throw NotelogError(.invalidArgument, "a value is needed, the field isn't optional")
      }
      return scratch.append(Bool?.none)
    }
    guard self.type == type else {
      throw NotelogError(.typeMismatch, "a \(self.type?.name ?? "") value was given for a \(type.name) field")
    }
    if isOptional { scratch.append(true) }
    scratch.append(stored)
  }

  /// Reads a value of a type.
  init(loading bytes: RawSpan, as type: FieldType, isOptional: Bool) throws(NotelogError) {
    guard let value = isOptional ? try presentValue(bytes, type) : bytes else {
      self = .missing
      return
    }
    do {
      switch type {
      case .boolean: self = .boolean(try Bool(_loading: value))
      case .integer: self = .integer(try Int64(_loading: value))
      case .unsigned: self = .unsigned(try UInt64(_loading: value))
      case .double: self = .double(try Double(_loading: value))
      case .text: self = .text(try String(_loading: value))
      case .bytes: self = .bytes(try [UInt8](_loading: value))
      case .date: self = .date(try Date(_loading: value))
      case .uuid: self = .uuid(try UUID(_loading: value))
      case .url: self = .url(try URL(_loading: value))
      case .json: self = .json(try EncodedJSON(_loading: value).utf8)
      }
    } catch { throw NotelogError(ours: error) }
  }

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
