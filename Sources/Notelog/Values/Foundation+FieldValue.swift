// Foundation's value types as field values (FORMAT.md 7.3).

import NotelogBase
public import Foundation

extension Date: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = Date
  /// A moment.
  @inlinable public static var fieldType: FieldType { .date }
  /// 8 bytes.
  @inlinable public var storedByteCount: Int { 8 }
  /// Writes the seconds since 2001 as `Date` holds them, so that nothing is lost.
  @inlinable public func store(into bytes: inout MutableRawSpan) {
    timeIntervalSinceReferenceDate.store(into: &bytes)
  }
  /// Reads the seconds since 2001.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 8, .date)
    self.init(timeIntervalSinceReferenceDate: Double(bitPattern: bytes.load(UInt64.self, at: 0)))
  }
}

extension UUID: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = UUID
  /// A UUID.
  @inlinable public static var fieldType: FieldType { .uuid }
  /// 16 bytes.
  @inlinable public var storedByteCount: Int { 16 }
  /// Writes the UUID's bytes in their usual order.
  public func store(into bytes: inout MutableRawSpan) {
    RecordID(self).bytes.write(into: &bytes, at: 0)
  }
  /// Reads 16 bytes.
  public init(loading bytes: RawSpan) throws {
    try requireByteCount(bytes, 16, .uuid)
    self = RecordID(ID16(bytes)).uuid
  }
}

extension URL: FieldValue, SortableValue {
  /// The type itself stands for its values.
  public typealias Stored = URL
  /// A URL's text.
  @inlinable public static var fieldType: FieldType { .url }
  /// The absolute text's UTF-8 bytes.
  public var storedByteCount: Int { absoluteString.utf8.count }
  /// Writes the absolute text.
  public func store(into bytes: inout MutableRawSpan) { absoluteString.store(into: &bytes) }
  /// The URL itself.
  ///
  /// - Throws: `invalidArgument` where its absolute text is no URI reference.
  public var stored: URL {
    get throws {
      if URL(exactly: absoluteString) != nil { return self }
      throw NotelogError(.invalidArgument, "the text of a URL is no URI reference as RFC 3986 has it")
    }
  }
  /// Reads a URL, and refuses text that isn't one.
  public init(loading bytes: RawSpan) throws {
    guard let text = bytes.text(), let url = URL(exactly: text) else {
      throw NotelogError(.damaged, "a URL value is not a URL")
    }
    self = url
  }

  /// The URL of this very text; nil where that is no URI reference (FORMAT.md 7.3).
  init?(exactly text: String) {
    self.init(string: text, encodingInvalidCharacters: false)
    guard absoluteString == text else { return nil }
  }
}

extension Data: FieldValue {
  /// The data's bytes.
  public var stored: [UInt8] { [UInt8](self) }
  /// Data of the bytes.
  public init(stored: [UInt8]) { self.init(stored) }
}
