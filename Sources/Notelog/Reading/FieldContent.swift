// Reading a value piece by piece, however long it is.

import NotelogBase

/// A field's value as bytes, read piece by piece or by range; a long one is never in memory as a whole.
///
/// ```swift
/// guard let content = try entry.content(of: \.attachment) else { return }
/// try content.forEachPiece { piece in try file.write(contentsOf: piece) }
/// let header = try content.read(0..<512)
/// ```
///
/// A content reads the value that its entry had. When the record gets another, or is removed, the old one may be gone at once, and is
/// after the next compaction: reading then throws `snapshotExpired`. A ``StoreSnapshot`` keeps it.
public struct FieldContent: Sendable {
  private enum Source: Sendable {
    /// Opened as a whole each time: it stands in the record, or was compressed or padded as one.
    case whole(@Sendable () throws(NotelogError) -> [UInt8])
    case chunks(ChunkOpener, skipping: Int)
  }

  /// How many bytes a piece has at most.
  public static let pieceByteCount = Limits.chunkBytes

  private let source: Source
  /// The value's length.
  public let byteCount: Int

  init(_ opener: ChunkOpener) {
    let presence = opener.entry.flags.contains(.optional) ? 1 : 0
    source = .chunks(opener, skipping: presence)
    byteCount = opener.reference.byteCount - presence
  }

  init(whole: @escaping @Sendable () throws(NotelogError) -> [UInt8]) throws(NotelogError) {
    source = .whole(whole)
    var bytes = try whole()
    byteCount = bytes.count
    bytes.wipe()
  }

  /// The bytes of a range.
  ///
  /// - Parameter range: The range; what of it lies beyond the value's end is left out.
  /// - Returns: The bytes.
  /// - Throws: `locked`, `tampered`, `damaged`, `snapshotExpired`.
  /// - Complexity: Opens the pieces that the range touches, of ``pieceByteCount`` each.
  public func read(_ range: Range<Int>) throws -> [UInt8] {
    var bytes: [UInt8] = []
    try forEachPart(range) { (part: RawSpan) throws(NotelogError) in bytes += part.array() }
    return bytes
  }

  /// Calls `body` with the value's bytes, in order, at most ``pieceByteCount`` at a time.
  ///
  /// - Throws: What `body` throws; `locked`, `tampered`, `damaged`, `snapshotExpired`. What came before has been handed over by
  ///   then, each piece authenticated; that none is missing at the end is certain once this returns.
  public func forEachPiece(_ body: ([UInt8]) throws -> Void) throws {
    var failure: (any Error)?
    do {
      try forEachPart(0..<byteCount) { (part: RawSpan) throws(NotelogError) in
        do { try body(part.array()) } catch {
          failure = error
          // Opening the rest would be for nobody.
          throw NotelogError(.invalidArgument, "a piece's receiver failed")
        }
      }
    } catch { throw failure ?? error }
  }

  private func forEachPart(
    _ range: Range<Int>, _ body: (RawSpan) throws(NotelogError) -> Void
  ) throws(NotelogError) {
    let range = range.clamped(to: 0..<byteCount)
    switch source {
    case .whole(let open):
      var bytes = try open()
      defer { bytes.wipe() }
      var start = range.lowerBound
      while start < range.upperBound {
        let end = min(range.upperBound, start + Self.pieceByteCount)
        try body(bytes.rawSpan.extracting(start..<end))
        start = end
      }
    case .chunks(let opener, let skipped):
      let shifted = range.lowerBound + skipped..<range.upperBound + skipped
      try opener.open(shifted) { (part: RawSpan, _: Int) throws(NotelogError) in try body(part) }
    }
  }
}

extension FieldOpener {
  /// A field's value to be read piece by piece; nil where it has none.
  func content(
    _ entry: FieldEntry, of stored: OwnedRecord, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) -> FieldContent? {
    try plan.check(entry, index, stored.id, in: stored.body.rawSpan)
    // Packed as a whole, it can only be unpacked as a whole.
    if entry.flags.contains(.chunked), !entry.flags.contains(.padded) {
      metrics.count(0)
      return FieldContent(
        try ChunkOpener(self, entry, in: stored.body.rawSpan, of: stored.id, index, plan))
    }
    let isOptional = plan.fields[index].field.isOptional
    let isMissing = try self.open(entry, in: stored.body.rawSpan, of: stored.id, index, plan) { bytes in
      isOptional && bytes.byteCount > 0 && bytes.byte(at: 0) == 0
    }
    if isMissing { return nil }
    return try FieldContent { () throws(NotelogError) in
      try self.open(entry, in: stored.body.rawSpan, of: stored.id, index, plan) { bytes in
        isOptional ? bytes.extracting(droppingFirst: 1).array() : bytes.array()
      }
    }
  }
}

extension Entry {
  /// The bytes of a field, to be read piece by piece or by range: for values too long to be in memory as a whole.
  ///
  /// - Parameter path: A property that the schema declares as a field.
  /// - Returns: The content; nil where the record has no value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `damaged`.
  public func content<Value>(of path: KeyPath<R, Value>) throws -> FieldContent? {
    let plan = reader.plan
    let index = try plan.index(of: path)
    guard let entry = try stored.find(plan.collection.fields[index].number) else { return nil }
    return try reader.opener.content(entry, of: stored, index, plan.collection)
  }
}
