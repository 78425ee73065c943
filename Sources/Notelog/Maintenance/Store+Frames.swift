// What lies in a store's files, frame by frame: the forensic view, without a key and without opening anything.

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Store {
  /// Calls `body` with every piece of every segment file in a folder: frames, and the bytes between them.
  ///
  /// Nothing is opened, recovered or judged; a store that can't be opened is shown all the same.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - body: Called in the order of names and offsets.
  /// - Throws: `notFound` where there is no segment file; `inputOutput`; and what `body` throws.
  public static func forEachPiece(at path: String, _ body: (StoredPiece) throws -> Void) throws {
    do { try forEachPiece(in: SystemStorage(path: path), body) } catch let error as NotelogError {
      throw error.naming(path)
    }
  }

  static func forEachPiece(in storage: any Storage, _ body: (StoredPiece) throws -> Void) throws {
    let stop = Cancellation.flag
    try FrameListing.run(storage) { piece in
      if stop?.isSet == true { throw CancellationError() }
      try body(piece)
    }
  }
}
