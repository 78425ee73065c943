// A record whose fields are opened when they are read.

public import Foundation
import NotelogBase

/// A record read from a store: each field is opened when it is read, and no other.
///
/// ```swift
/// let entry = try store.get(Note.self, id)
/// print(try entry.title)    // opens the title; the body stays sealed
/// ```
///
/// An entry holds the record's bytes as they were when it was read; later changes don't show in it. Reading a
/// sealed field needs its key at that moment: after ``Store/lock(_:)`` it throws `locked`.
@dynamicMemberLookup
public struct Entry<R: Record>: Sendable, Identifiable, Opaque, CustomStringConvertible {
  let stored: OwnedRecord
  let reader: RecordReader<R>

  /// The record's identity.
  public var id: RecordID { stored.id }
  /// The version of the record: the number of the transaction that wrote it.
  public var revision: UInt64 { stored.revision }
  /// Whether the record may have been changed or removed in something that is lost. Only in a store that was
  /// opened although it lost something nobody can name: see ``Store/Options/acceptsUnprovenDamage``.
  public var isPossiblyStale: Bool { stored.record.isPossiblyStale }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws { try value(of: path) }
  }

  /// The value of a field; what the stored record lacks has its initial value.
  ///
  /// - Parameter path: A property that the schema declares as a field, or one of a struct that the record
  ///   holds: `\.login.site`.
  /// - Returns: The value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func value<Value>(of path: KeyPath<R, Value>) throws -> Value {
    var opening = Opening()
    return try reader.value(of: path, stored.scanned, &opening)
  }

  /// The whole record, every field opened.
  ///
  /// - Throws: `locked`, `missingKey`, `tampered`, `typeMismatch` or `damaged`.
  public func record() throws -> R {
    var opening = Opening()
    return try reader.record(stored.scanned, &opening)
  }

  /// Collection, id and revision, and nothing of the record's values.
  public var description: String { "\(R.schema.name) \(id) at revision \(revision)" }
}

// MARK: - Pointing at a record from outside of the store.

extension Store {
  /// A record's address, a URI to be kept outside of the store: `notelog://<store>/<collection>/<record>`.
  /// Whether there is such a record is not looked at.
  ///
  /// It holds for as long as the record lives, through compaction, backup and restore, and through a new name
  /// for the collection. Inside of the store a ``RecordID`` is enough, as a field: a reference says store and
  /// collection beside it, and is refused by any other.
  public func reference<R: Record>(to type: R.Type, _ id: RecordID) throws -> URL {
    // What a path's part may hold unescaped; a slash in a name is none of the URI's.
    let allowed = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\0"..."\u{7F}"))
      .union(CharacterSet(charactersIn: "-._~"))
    let name = try reader(for: type).plan.collection.schema.firstName
    guard let path = name.addingPercentEncoding(withAllowedCharacters: allowed),
      let url = URL(string: "notelog://\(self.id)/\(path)/\(id)")
    else { preconditionFailure("letters, digits and escapes are a URL") }
    return url
  }

  /// The record that a reference points to; nil where it is no more. References that are equivalent by RFC 3986
  /// (6.2.2.1, 6.2.2.2) are one: scheme and store have no case, and what needs no escape may have one.
  ///
  /// - Throws: `invalidArgument` where it is no reference, or one to another store or another type's
  ///   collection; what reading a record throws.
  public func get<R: Record>(_ type: R.Type, _ reference: URL) throws -> Entry<R>? {
    guard let id = RecordID(reference.lastPathComponent),
      try Self.parts(of: reference) == Self.parts(of: self.reference(to: type, id))
    else {
      throw NotelogError(
        .invalidArgument, "\(reference) points to no record of type \(R.self) in this store")
    }
    return try get(type, id)
  }

  /// The parts of a URI, which are the same in all that are equivalent.
  private static func parts(of uri: URL) -> [String?] {
    guard let parts = URLComponents(url: uri, resolvingAgainstBaseURL: true) else { return [] }
    let port = parts.port.map(String.init)
    let path = parts.percentEncodedPath.split(separator: "/", omittingEmptySubsequences: false)
    return [parts.scheme?.lowercased(), parts.user, parts.password, parts.host?.lowercased(), port]
      + [parts.query, parts.fragment] + path.map(\.removingPercentEncoding)
  }
}

// MARK: - Reading a value piece by piece, however long it is.

/// A field's value as bytes, read piece by piece or by range; a long one is never in memory as a whole.
///
/// ```swift
/// guard let content = try entry.content(of: \.attachment) else { return }
/// try content.forEachPiece { piece in try file.write(contentsOf: piece) }
/// let header = try content.read(0..<512)
/// ```
///
/// A content reads the value that its entry had. When the record gets another, or is removed, the old one may
/// be gone at once, and is after the next compaction: reading then throws `snapshotExpired`. A
/// ``StoreSnapshot`` keeps it.
public struct FieldContent: Sendable, Opaque {
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
  /// - Throws: What `body` throws; `locked`, `tampered`, `damaged`, `snapshotExpired`. What came before has
  ///   been handed over by then, each piece authenticated; that none is missing at the end is certain once
  ///   this returns.
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
    of stored: OwnedRecord, _ index: Int, _ plan: CollectionPlan
  ) throws(NotelogError) -> FieldContent? {
    guard let entry = try stored.find(plan.fields[index].number) else { return nil }
    try plan.check(entry, index, stored.id, in: stored.body.rawSpan)
    // Packed as a whole, it can only be unpacked as a whole.
    if entry.flags.contains(.chunked), !entry.flags.contains(.padded) {
      metrics.count(0)
      return FieldContent(
        try ChunkOpener(self, entry, in: stored.body.rawSpan, of: stored.id, index, plan))
    }
    let isOptional = plan.fields[index].isOptional
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
  /// The bytes of a field, to be read piece by piece or by range: for values too long to be in memory as a
  /// whole.
  ///
  /// - Parameter path: A property that the schema declares as a field.
  /// - Returns: The content; nil where the record has no value.
  /// - Throws: `locked`, `missingKey`, `tampered`, `damaged`.
  public func content<Value>(of path: KeyPath<R, Value>) throws -> FieldContent? {
    let plan = reader.plan
    return try reader.opener.content(of: stored, plan.index(of: path), plan.collection)
  }
}
