// Large values streamed out, and in, by tasks.

import NotelogBase

extension FieldContent {
  /// The value's pieces, in order, to be gone through by a task: no more than one is in memory at a time.
  ///
  /// The sequence throws `locked`, `tampered`, `damaged`, `snapshotExpired`; `CancellationError`.
  public var pieces: some AsyncSequence<[UInt8], any Error> & Sendable { Pieces(content: self) }
}

/// The pieces of a value, from its start.
private struct Pieces: AsyncSequence, AsyncIteratorProtocol, Sendable {
  let content: FieldContent
  var offset = 0

  mutating func next() async throws -> [UInt8]? {
    try Task.checkCancellation()
    guard offset < content.byteCount else { return nil }
    let range = offset..<offset + FieldContent.pieceByteCount
    let piece = try await offPool { [content] in try content.read(range) }
    offset += piece.count
    return piece
  }

  func makeAsyncIterator() -> Pieces { self }
}

extension Store {
  /// Writes a value whose pieces come one after another, for a sealed field of bytes, ahead of the update
  /// that sets the field to it.
  ///
  /// - Parameters:
  ///   - path: The field: sealed, of bytes, neither padded nor compressed. Any other throws
  ///     `invalidArgument`, and says why.
  ///   - id: The record that the value is for. It need not exist yet.
  ///   - pieces: The value's bytes, in pieces of any length.
  /// - Returns: The upload, to be set in an update.
  /// - Throws: `locked`, `invalidArgument`, `limitExceeded`, `full`, `poisoned`, `closed`, and what `pieces`
  ///   throws; `CancellationError`: a value whose pieces ended because the task was cancelled is not taken
  ///   for a whole one.
  public func upload<R: Record, Value, Pieces: AsyncSequence & Sendable>(
    to path: FieldKeyPath<R, Value>, of id: RecordID, from pieces: Pieces
  ) async throws -> Upload<R> where Pieces.Element == [UInt8] {
    let uploading = try await offPool { UploadInProgress(try self.uploader(to: path, of: id)) }
    for try await piece in pieces { try await offPool { try uploading.append(piece) } }
    try Task.checkCancellation()
    return try await offPool { try uploading.finish(for: R.self) }
  }
}

/// An upload that goes on piece by piece, on whatever thread.
private final class UploadInProgress: Sendable {
  private let uploader: Lock<Uploader?>

  init(_ uploader: consuming sending Uploader) { self.uploader = Lock(.some(consume uploader)) }

  func append(_ piece: [UInt8]) throws(NotelogError) {
    try uploader.withLock { uploader throws(NotelogError) in try uploader?.append(piece.rawSpan) }
  }

  func finish<R: Record>(for type: R.Type) throws(NotelogError) -> Upload<R> {
    try uploader.withLock { uploader throws(NotelogError) in
      guard let whole = uploader.take() else { throw NotelogError(.invalidArgument, "an upload ends once") }
      return try whole.finish(for: type)
    }
  }
}
