// Streaming large values into a store.

import NotelogBase
public import Foundation

extension Store {
  /// Writes a value of any length for a sealed field of bytes, ahead of the update that sets the field to it.
  ///
  /// ```swift
  /// let scan = try store.upload(to: \Note.attachment, of: id) { buffer in try source.read(into: &buffer) }
  /// try store.write { tx in try tx.update(Note.self, id) { $0.set(\.attachment, scan) } }
  /// ```
  ///
  /// The value is sealed as it comes, 64 KiB at a time; no more than a few chunks are ever in memory. Don't call this inside a
  /// write closure: it commits by itself.
  ///
  /// - Parameters:
  ///   - path: The field: sealed, of bytes, neither padded nor compressed. Any other throws `invalidArgument`, and says why.
  ///   - id: The record that the value is for. It need not exist yet, unless it names the field's key.
  ///   - read: Fills a buffer from its start, and returns how many bytes it wrote; 0 at the value's end.
  /// - Returns: The upload, to be set in an update.
  /// - Throws: `locked`, `invalidArgument`, `limitExceeded`, `full`, `poisoned`, `closed`, and what `read` throws.
  public func upload<R: Record, Value>(
    to path: FieldKeyPath<R, Value>, of id: RecordID, reading read: (inout MutableRawSpan) throws -> Int
  ) throws -> Upload<R> {
    var uploader = try uploader(to: path, of: id)
    try uploader.append(reading: read)
    return try uploader.finish(for: R.self)
  }

  /// Writes the rest of a file as a value for a sealed field of bytes, ahead of the update that sets the field to it.
  ///
  /// - Parameters:
  ///   - path: The field: sealed, of bytes, neither padded nor compressed. Any other throws `invalidArgument`, and says why.
  ///   - id: The record that the value is for. It need not exist yet, unless it names the field's key.
  ///   - file: What is read, from where it stands to its end.
  /// - Returns: The upload, to be set in an update.
  /// - Throws: `locked`, `invalidArgument`, `limitExceeded`, `full`, `poisoned`, `closed`, and what reading the file throws.
  public func upload<R: Record, Value>(
    to path: FieldKeyPath<R, Value>, of id: RecordID, from file: FileHandle
  ) throws -> Upload<R> {
    try upload(to: path, of: id, reading: Self.piece(of: file))
  }

  /// Reads a file piece by piece.
  static func piece(of file: FileHandle) -> @Sendable (inout MutableRawSpan) throws -> Int {
    { bytes in
      guard let data = try file.read(upToCount: bytes.byteCount) else { return 0 }
      let piece = [UInt8](data)
      bytes.copy(piece.rawSpan, at: 0)
      return piece.count
    }
  }

  func uploader<R: Record, Value>(
    to path: FieldKeyPath<R, Value>, of id: RecordID
  ) throws -> Uploader {
    let plan = try storedPlan(for: R.self)
    return try Uploader(self, plan.collection, plan.index(of: path), id)
  }
}
