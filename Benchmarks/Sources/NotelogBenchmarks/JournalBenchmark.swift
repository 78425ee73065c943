// The journal without keys or schema, for benchmarks: what the log itself costs.

import NotelogBase
import NotelogFormat
import NotelogStorage
import NotelogCare
import NotelogJournal

/// A journal in a folder, written and read as fast as it goes.
///
/// Not a part of the library's interface: a target of the library's package, so that it reaches what apps don't.
public final class JournalBenchmark: Sendable {
  private let journal: Journal

  /// Creates a journal in a folder that is missing or empty.
  ///
  /// - Parameters:
  ///   - path: The folder's path.
  ///   - segmentByteCount: The size that segments aim at; nil leaves that to the journal.
  /// - Throws: What the system refuses.
  public init(at path: String, segmentByteCount: Int? = nil) throws {
    let storage = SystemStorage(path: path)
    do { try storage.makeStoreFolder() } catch {
      guard error.errno == SystemErrno.exists else { throw error }
    }
    var options = JournalOptions()
    options.segmentByteCount = segmentByteCount
    journal = try Journal.create(in: storage, storeID: ID16(low: 1, high: 1), options: options)
  }

  /// Writes records of one size, `batch` of them a transaction.
  ///
  /// - Parameters:
  ///   - numbers: Which ids to write.
  ///   - bodyByteCount: The bytes of each.
  ///   - batch: How many a transaction.
  ///   - isDurable: Whether each commit survives a loss of power, or only the end of the process.
  ///   - done: Called after each commit.
  /// - Throws: What writing throws.
  public func write(
    _ numbers: Range<Int>, bodyByteCount: Int, batch: Int, isDurable: Bool = false, _ done: () -> Void = {}
  ) throws {
    let body = [UInt8](repeating: 0x78, count: bodyByteCount)
    var transaction = Batch()
    for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: batch) {
      transaction.removeAll()
      for number in start..<min(start + batch, numbers.upperBound) {
        transaction.put(Self.key(number), collection: 1, bodyByteCount: bodyByteCount) { bytes in
          bytes.copy(body.rawSpan, at: 0)
        }
      }
      try journal.commit(&transaction, isDurable ? .durable : .flushed)
      done()
    }
  }

  /// Reads records, each in a step of its own.
  ///
  /// - Parameter numbers: Which ids to read.
  /// - Returns: The bytes of their bodies.
  /// - Throws: What reading throws.
  public func read(_ numbers: ArraySlice<UInt32>) throws -> Int {
    var buffer = ReadBuffer()
    var byteCount = 0
    for number in numbers where try journal.read(Self.key(Int(number)), into: &buffer) != nil {
      byteCount += buffer.body.byteCount
    }
    return byteCount
  }

  /// Closes the journal in order.
  ///
  /// - Throws: What closing throws.
  public func close() throws { try journal.close() }

  /// Reads and checks every frame of a store that nobody has open.
  ///
  /// - Parameter path: The store's folder.
  /// - Returns: The frames and the bytes read.
  /// - Throws: What reading throws.
  public static func verify(at path: String) throws -> (frameCount: Int, byteCount: Int) {
    let found = try Journal.verify(SystemStorage(path: path))
    return (found.frameCount, found.byteCount)
  }

  /// Opens a journal for reading and closes it again.
  ///
  /// - Parameter path: The store's folder.
  /// - Returns: How many records it has.
  /// - Throws: What opening throws.
  public static func open(at path: String) throws -> Int {
    var options = JournalOptions()
    options.isReadOnly = true
    let journal = try Journal.open(in: SystemStorage(path: path), options: options)
    let count = journal.statistics.recordCount
    try journal.close()
    return count
  }

  /// Ids that look random, as apps' ids do.
  private static func key(_ number: Int) -> ID16 {
    var mixed = UInt64(truncatingIfNeeded: number) &+ 0x9E37_79B9_7F4A_7C15
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return ID16(low: mixed ^ mixed >> 31, high: UInt64(truncatingIfNeeded: number))
  }
}
