// A file with unreadable sectors, read all the same.

import NotelogBase

/// Reads a file in which some places can't be read: they read as zeros, which is never a frame, and are
/// remembered.
///
/// Salvage forgives any error. Who opens a store forgives only what the medium says (`EIO`): a file that is
/// gone is no damage.
package final class ForgivingFile: StorageFile {
  private static let sectorByteCount = 4096

  fileprivate let base: any StorageFile
  /// The file's length, where it does not change.
  private let fileByteCount: Int?
  private let ranges = Lock<[Range<Int>]>([])

  /// A file of so many bytes. Where that isn't said, it is of a store that somebody may be writing to: its
  /// length may change, and only errors of the medium are forgiven.
  package init(_ base: any StorageFile, byteCount: Int? = nil) {
    self.base = base
    fileByteCount = byteCount
  }

  package var name: String { base.name }

  /// What could not be read so far, in order and without overlaps.
  package var unreadable: [Range<Int>] {
    var merged: [Range<Int>] = []
    for range in ranges.withLock({ $0 }).sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = merged.last, range.lowerBound <= last.upperBound {
        merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        merged.append(range)
      }
    }
    return merged
  }

  package func read(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    do { return try base.read(into: &bytes, at: offset) } catch {
      if error.isInterruption || !forgives(error) { throw error }
    }
    let byteCount = min(bytes.byteCount, max(0, try self.byteCount() - offset))
    var done = 0
    while done < byteCount {
      let count = min(byteCount - done, Self.sectorByteCount - (offset + done) % Self.sectorByteCount)
      var piece = bytes._mutatingExtracting(done..<done + count)
      var got = 0
      do { got = try base.readFully(into: &piece, at: offset + done) } catch {
        guard forgives(error) else { throw error }
        ranges.withLock { $0.append(offset + done..<offset + done + count) }
      }
      for place in got..<count { piece.store(UInt8(0), at: place) }
      done += count
    }
    return done
  }

  private func forgives(_ error: StorageError) -> Bool { fileByteCount != nil || error.isOfMedium }

  package func byteCount() throws(StorageError) -> Int {
    if let fileByteCount { return fileByteCount }
    return try base.byteCount()
  }
  package func sync() throws(StorageError) { try base.sync() }
  package func close() { base.close() }
}

extension StorageFile {
  /// The file itself, for who has to hear that it can't be read.
  package var unforgiving: any StorageFile { (self as? ForgivingFile)?.base ?? self }
}

extension StorageError {
  /// Whether the medium does not give the bytes.
  package var isOfMedium: Bool { call == .read && errno == SystemErrno.inputOutput }
}
