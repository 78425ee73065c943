// The types of stored values, as numbered in the format (FORMAT.md 7).

/// How a field's bytes are to be read. The type is part of what a sealed value authenticates.
public enum FieldType: UInt8, Sendable, Hashable, CaseIterable {
  /// One byte, 0 or 1.
  case boolean = 1
  /// A signed integer, 8 bytes.
  case integer = 2
  /// An unsigned integer, 8 bytes.
  case unsigned = 3
  /// An IEEE 754 double, 8 bytes.
  case double = 4
  /// UTF-8 text.
  case text = 5
  /// Bytes as they are.
  case bytes = 6
  /// A moment: seconds since 2001-01-01 00:00 UTC as a double, 8 bytes.
  case date = 7
  /// A UUID, 16 bytes.
  case uuid = 8
  /// A URL's text in UTF-8.
  case url = 9
  /// A JSON document in UTF-8.
  case json = 10

  /// The number of bytes of every value of this type, where it is fixed.
  public var fixedByteCount: Int? {
    switch self {
    case .boolean: 1
    case .integer, .unsigned, .double, .date: 8
    case .uuid: 16
    case .text, .bytes, .url, .json: nil
    }
  }

  /// The type's name in the tool and in messages.
  public var name: String { String(describing: self) }

  /// Whether values of this type have an order-preserving sort key.
  public var isSortable: Bool { self != .json }
}
