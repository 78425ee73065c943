// A record's envelope, what the journal must know of it without keys or schema: FORMAT.md §5.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

public import NotelogBase

/// A record's envelope, to be written.
public struct Envelope: Equatable, Sendable {
  /// An indexed plain field's value as bytes that sort as the value does.
  public struct SortKey: Equatable, Sendable {
    public var field: UInt16
    public var bytes: [UInt8]

    @inlinable
    public init(field: UInt16, bytes: [UInt8]) {
      self.field = field
      self.bytes = bytes
    }
  }

  /// The large values the record refers to.
  public var values: [ID16]
  /// Sort keys, field numbers strictly ascending.
  public var sortKeys: [SortKey]

  @inlinable
  public init(values: [ID16] = [], sortKeys: [SortKey] = []) {
    self.values = values
    self.sortKeys = sortKeys
  }

  /// The bytes of one that says nothing: its length, and the count of its values.
  public static let minimumByteCount = 4

  /// The bytes it takes.
  @inlinable
  public var byteCount: Int {
    sortKeys.reduce(Self.minimumByteCount + 16 * values.count) { $0 + 4 + $1.bytes.count }
  }

  @inlinable
  public func append(to buffer: inout Buffer) {
    let start = buffer.count
    let byteCount = self.byteCount
    precondition(byteCount <= Limits.maximumEnvelopeByteCount, "an envelope fits its limit")
    buffer.appendZeros(byteCount)
    var bytes = buffer.mutableBytes
    bytes.store(UInt16(byteCount), at: start)
    bytes.store(UInt16(values.count), at: start + 2)
    var place = start + 4
    for value in values {
      value.write(into: &bytes, at: place)
      place += 16
    }
    for key in sortKeys {
      bytes.store(key.field, at: place)
      bytes.store(UInt16(key.bytes.count), at: place + 2)
      bytes.copy(key.bytes.rawSpan, at: place + 4)
      place += 4 + key.bytes.count
    }
  }

  /// The length of the envelope that a payload begins with; nothing where it is not well formed.
  @inlinable
  public static func byteCount(inPayload bytes: RawSpan) -> Int? {
    guard bytes.byteCount >= minimumByteCount else { return nil }
    let byteCount = Int(bytes.load(UInt16.self, at: 0))
    guard byteCount >= minimumByteCount, byteCount <= bytes.byteCount else { return nil }
    var place = 4 + 16 * Int(bytes.load(UInt16.self, at: 2))
    var lastField = -1
    while place + 4 <= byteCount {
      let field = Int(bytes.load(UInt16.self, at: place))
      guard field > lastField else { return nil }
      lastField = field
      place += 4 + Int(bytes.load(UInt16.self, at: place + 2))
    }
    return place == byteCount ? byteCount : nil
  }

  /// Where an envelope has the sort key of a field; nothing where it has none, or is not well formed.
  @inlinable
  public static func sortKey(of field: UInt16, in bytes: RawSpan) -> Range<Int>? {
    guard let end = byteCount(inPayload: bytes) else { return nil }
    var place = 4 + 16 * Int(bytes.load(UInt16.self, at: 2))
    while place < end {
      let key = place + 4..<place + 4 + Int(bytes.load(UInt16.self, at: place + 2))
      if bytes.load(UInt16.self, at: place) == field { return key }
      place = key.upperBound
    }
    return nil
  }

  /// How many sort keys an envelope has; none where there is no envelope, or it is not well formed.
  @inlinable
  public static func sortKeyCount(in bytes: RawSpan) -> Int {
    guard let end = byteCount(inPayload: bytes) else { return 0 }
    var place = 4 + 16 * Int(bytes.load(UInt16.self, at: 2))
    var count = 0
    while place < end {
      place += 4 + Int(bytes.load(UInt16.self, at: place + 2))
      count += 1
    }
    return count
  }

  /// Reads a well-formed envelope.
  @inlinable
  public init?(_ bytes: RawSpan) {
    guard let byteCount = Self.byteCount(inPayload: bytes) else { return nil }
    let valueCount = Int(bytes.load(UInt16.self, at: 2))
    values = []
    for index in 0..<valueCount { values.append(ID16(bytes, at: 4 + 16 * index)) }
    sortKeys = []
    var place = 4 + 16 * valueCount
    while place < byteCount {
      let length = Int(bytes.load(UInt16.self, at: place + 2))
      sortKeys.append(
        SortKey(
          field: bytes.load(UInt16.self, at: place),
          bytes: bytes.extracting(place + 4..<place + 4 + length).array()))
      place += 4 + length
    }
  }
}

extension Envelope {
  /// The large values that an envelope names; none where there is no envelope.
  @inlinable
  public static func values(_ bytes: RawSpan) -> [ID16] {
    guard bytes.byteCount >= 4 else { return [] }
    let count = Int(bytes.load(UInt16.self, at: 2))
    guard count > 0, 4 + 16 * count <= bytes.byteCount else { return [] }
    return (0..<count).map { ID16(bytes, at: 4 + 16 * $0) }
  }
}
