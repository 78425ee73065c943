// A file with unreadable sectors, read all the same.

import NotelogBase

/// Reads a file in which some places can't be read: they read as zeros, which is never a frame, and are remembered.
package final class ForgivingFile: StorageFile {
  private static let sectorByteCount = 4096

  private let base: any StorageFile
  private let fileByteCount: Int
  private let ranges = Lock<[Range<Int>]>([])

  package init(_ base: any StorageFile, byteCount: Int) {
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
      if error.isInterruption { throw error }
    }
    let byteCount = min(bytes.byteCount, max(0, fileByteCount - offset))
    var done = 0
    while done < byteCount {
      let count = min(byteCount - done, Self.sectorByteCount - (offset + done) % Self.sectorByteCount)
      var piece = bytes._mutatingExtracting(done..<done + count)
      var got = 0
      do { got = try base.readFully(into: &piece, at: offset + done) } catch {
        ranges.withLock { $0.append(offset + done..<offset + done + count) }
      }
      for place in got..<count { piece.store(UInt8(0), at: place) }
      done += count
    }
    return done
  }

  package func byteCount() throws(StorageError) -> Int { fileByteCount }
  package func close() { base.close() }
}
