// What salvaging saved, and what it could not: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat

/// What became of a pile of segments.
struct SalvageReport: Sendable {
  /// Something that could not be saved.
  struct Loss: Equatable, Sendable {
    enum Kind: String, Sendable {
      /// A segment that a live set names is not in the pile.
      case missingSegment
      /// A file in which not one frame was found.
      case unreadableFile
      /// Bytes that the system could not read.
      case unreadableBytes
      /// Bytes where frames were: what they held is not known.
      case lostFrames
      /// The newest version of a record, whose frame does not check anywhere.
      case record
      /// Frames of a transaction that is not whole, where no witness says that it was durable.
      case uncommitted
      /// Chunks of a large value that a saved record refers to.
      case chunks
    }

    let kind: Kind
    /// The file's name in the pile; empty for a segment that is not there.
    let file: String
    let segment: UInt32?
    let offset: Int
    let byteCount: Int
    /// The record, or the large value, where that is known.
    var record: ID16?
    /// Why a file can't be opened; 0 where it can.
    var errno: Int32 = 0
  }

  /// The store that was salvaged, and is the new one's id.
  var storeID = ID16.zero
  /// Records, chunks of large values, and the bytes of their frames that the new store holds.
  var recordCount = 0
  var chunkCount = 0
  var byteCount = 0
  /// Records whose newest version is known to be a deletion.
  var deletedCount = 0
  /// Records that were saved in a version that may not be their newest.
  var possiblyStale: [ID16] = []
  /// Records that a checkpoint places where frames are lost, and whose ids nothing names.
  var unnamedRecordCount = 0
  /// Records with a lower revision may have had a newer version in frames that are lost; 0 where nothing is lost.
  var staleBelow: UInt64 = 0
  /// Files that frames were read from.
  var files: [String] = []
  /// Of these, files without a readable header: their salt was found otherwise.
  var headerless: [String] = []
  /// Files of which another copy was in the pile.
  var doubled: [String] = []
  /// Files of other stores, and those stores.
  var foreign: [(name: String, storeID: ID16)] = []
  /// How many losses there are. The first of them are listed.
  private(set) var lossCount = 0
  private(set) var losses: [Loss] = []

  /// How many losses are listed at most.
  private static let maximumListedLosses = 100_000

  /// Notes a loss.
  ///
  /// - Parameters:
  ///   - kind: What is lost.
  ///   - file: The file that it is lost in; nothing where it is lost with a file, or with several.
  ///   - range: Where in the file.
  ///   - record: Whose it is, where that is known.
  mutating func add(
    _ kind: Loss.Kind, in file: SalvageFile?, _ range: Range<Int> = 0..<0, record: ID16? = nil
  ) {
    add(
      Loss(
        kind: kind, file: file?.name ?? "", segment: file?.number, offset: range.lowerBound,
        byteCount: range.count, record: record))
  }

  mutating func add(_ loss: Loss) {
    lossCount += 1
    if losses.count < Self.maximumListedLosses { losses.append(loss) }
  }
}
