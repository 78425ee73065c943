// Whole reads and writes out of single system calls: where EINTR and short counts are dealt with.

package import NotelogBase

extension StorageError {
  package var isInterruption: Bool { errno == SystemErrno.interrupted }
  package var isNoSpace: Bool { errno == SystemErrno.noSpace || errno == SystemErrno.quotaExceeded }
  package var isMissing: Bool { errno == SystemErrno.notFound }
  package var isUnsupported: Bool {
    errno == SystemErrno.notSupported || errno == SystemErrno.invalidArgument
  }
}

/// Repeats a system call while signals interrupt it.
@inline(__always)
package func retryingInterruptions<Result>(
  _ call: () throws(StorageError) -> Result
) throws(StorageError) -> Result {
  while true {
    do { return try call() } catch {
      guard error.isInterruption else { throw error }
    }
  }
}

extension StorageFile {
  /// Reads until the span is full or the file ends.
  ///
  /// - Returns: How many bytes were read; fewer than asked only at the end of the file.
  package func readFully(into bytes: inout MutableRawSpan, at offset: Int) throws(StorageError) -> Int {
    var done = 0
    while done < bytes.byteCount {
      let count: Int
      do {
        var rest = bytes._mutatingExtracting(droppingFirst: done)
        count = try read(into: &rest, at: offset + done)
      } catch {
        guard error.isInterruption else { throw error }
        continue
      }
      if count == 0 { break }
      done += count
    }
    return done
  }

  /// Cuts or grows the file.
  package func setLength(_ byteCount: Int) throws(StorageError) {
    try retryingInterruptions { () throws(StorageError) in try truncate(to: byteCount) }
  }

  /// Makes the file's content and length durable. An interrupted sync has lost nothing: what fails is said by the next.
  package func makeDurable() throws(StorageError) {
    // Not the method itself: that would take memory for it at each sync.
    try retryingInterruptions { () throws(StorageError) in try sync() }
  }

  /// Writes every byte, whatever the system takes at a time.
  package func writeAll(_ bytes: RawSpan, at offset: Int) throws(StorageError) {
    var done = 0
    while done < bytes.byteCount {
      do throws(StorageError) {
        let count = try write(bytes.extracting(droppingFirst: done), at: offset + done)
        // A system that takes nothing and reports no error would keep us here for ever.
        if count == 0 { throw StorageError(.write, name, errno: SystemErrno.inputOutput) }
        done += count
      } catch {
        guard error.isInterruption else { throw error }
      }
    }
  }
}

extension Buffer {
  /// Appends up to `byteCount` bytes of a file.
  ///
  /// - Returns: How many bytes the file had there.
  @discardableResult
  package mutating func fill(_ byteCount: Int, from file: any StorageFile, at offset: Int)
    throws(StorageError) -> Int
  {
    let start = count
    resizeForReading(to: start + byteCount)
    var all = mutableBytes
    var bytes = all._mutatingExtracting(start..<start + byteCount)
    do {
      let done = try file.readFully(into: &bytes, at: offset)
      truncate(to: start + done)
      return done
    } catch {
      truncate(to: start)
      throw error
    }
  }
}

/// How much of a file is read at a time.
private let pieceByteCount = 256 << 10

extension StorageFile {
  /// Calls `body` with the bytes of a range, piece by piece, and with where each piece begins.
  ///
  /// - Parameters:
  ///   - range: Bytes that the file has.
  ///   - body: Called with each piece.
  /// - Throws: What `body` throws; `inputOutput` where the file has fewer bytes.
  package func forEachPiece(
    of range: Range<Int>, _ body: (RawSpan, _ offset: Int) throws(StorageError) -> Void
  ) throws(StorageError) {
    var buffer = Buffer(capacity: min(pieceByteCount, range.count))
    for place in stride(from: range.lowerBound, to: range.upperBound, by: pieceByteCount) {
      buffer.removeAll()
      let count = min(pieceByteCount, range.upperBound - place)
      guard try buffer.fill(count, from: self, at: place) == count else {
        throw StorageError(.read, name, errno: SystemErrno.inputOutput)
      }
      try body(buffer.bytes, place)
    }
  }
}

extension StorageFile {
  /// Takes a range of another file's bytes.
  ///
  /// - Returns: Their checksum.
  @discardableResult
  package func copyBytes(of source: any StorageFile, _ range: Range<Int>) throws(StorageError) -> Checksum {
    var checksum = Checksum()
    try source.forEachPiece(of: range) { (bytes, place) throws(StorageError) in
      checksum.update(bytes)
      try writeAll(bytes, at: place)
    }
    return checksum
  }
}

extension StorageFile {
  /// Promises space: by the system's own means, or by writing zeros where it has none.
  package func promise(_ range: Range<Int>) throws(StorageError) {
    do {
      try retryingInterruptions { () throws(StorageError) in try allocate(range) }
    } catch {
      guard error.isUnsupported else { throw error }
      do { try writeZeros(range) } catch {
        // Nothing is promised in part: what was taken is wanted elsewhere on a full disk.
        try? truncate(to: range.lowerBound)
        throw error
      }
    }
  }

  /// Writes zeros.
  package func writeZeros(_ range: Range<Int>) throws(StorageError) {
    var zeros = Buffer()
    zeros.appendZeros(min(range.count, 1 << 16))
    var place = range.lowerBound
    while place < range.upperBound {
      let count = min(zeros.count, range.upperBound - place)
      try writeAll(zeros.bytes.extracting(first: count), at: place)
      place += count
    }
  }
}
