// Ships a store that this or another process may be writing to: FORMAT.md §26.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// What a round of shipping did.
public struct ShippingSummary: Sendable {
  /// The revision of the last transaction that is in the archive now, with all before it.
  public internal(set) var revision: UInt64 = 0
  /// How many objects were put.
  public internal(set) var putObjects = 0
  /// How many segments of the store the archive had already.
  public internal(set) var keptSegments = 0
  /// How many of the objects put had been cut short, or did not check.
  public internal(set) var mendedObjects = 0
  /// How many bytes were put.
  public internal(set) var byteCount = 0
  /// What does not check in the store, as far as it was read, or why nothing was put; empty where all is well.
  public internal(set) var findings: [Finding] = []
  /// Whether segments may have gone unshipped since the round before: of the moments between, some may be
  /// missing.
  public internal(set) var hasGap = false
  /// How many named keys can't be opened from the archive alone, as they can be shredded: their effaceable
  /// files are left out.
  public internal(set) var keysWithoutTheirFile = 0

  init(hasGap: Bool) { self.hasGap = hasGap }
}

/// Ships a store to an archive, round after round. As long as there is one, what it has not shipped is not deleted.
public final class Shipper: Sendable {
  /// An archive is listed again after so long: others may ship to it, or delete from it.
  private static let timePerListing = Duration.seconds(600)

  private struct State: ~Copyable, Sendable {
    var listing: ArchiveListing?
    var listingTime = ContinuousClock.now
    var pin: Pin?
    /// Whether a round that failed found a gap.
    var hasGap = false
  }

  private let storage: any Storage
  private let archive: any Archive
  private let heldByteCountMax: Int
  private let clock: @Sendable () -> UInt64
  private let state = Lock(State())

  /// Ships a store in a folder, whoever uses it meanwhile.
  ///
  /// - Parameters:
  ///   - path: The store's folder.
  ///   - archive: Where it is shipped to.
  ///   - byteCount: What was replaced in the store is kept until it is shipped, as long as it takes no more
  ///     than so many bytes.
  /// - Throws: `notFound` where there is no folder; `inputOutput`.
  public convenience init(of path: String, to archive: any Archive, holding byteCount: Int = 1 << 30) throws {
    self.init(try Store.present(path), to: archive, holding: byteCount)
  }

  init(
    _ storage: any Storage, to archive: any Archive, holding byteCount: Int = 1 << 30,
    clock: @escaping @Sendable () -> UInt64 = JournalOptions().clock
  ) {
    (self.storage, self.archive, heldByteCountMax, self.clock) = (storage, archive, byteCount, clock)
  }

  /// Ships what is new: everything that was committed when this was called.
  ///
  /// It needs no key, and no lock of the store's. Whatever stops it, the archive is as good as before, and the next
  /// call goes on. Nothing in the archive is changed or deleted.
  ///
  /// - Parameters:
  ///   - checksAll: Whether the objects that the store needs are read in the archive; those that don't check are put again.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: What was done. Damage in the store is a finding, and so is an archive that knows a later end of the
  ///   store, or another store's bytes.
  /// - Throws: `invalidArgument` where one folder lies inside the other; `alreadyExists` where the archive is of another store, or its folder holds something else; `busy` where the store is changed
  ///   faster than it can be read; `notFound`, `inputOutput`, `cancelled`; what the archive throws.
  @discardableResult
  public func ship(
    checkingAll checksAll: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> ShippingSummary {
    try state.withLock { state throws(NotelogError) in
      do throws(NotelogError) {
        var hold = PinHold(byteCountMax: UInt64(clamping: heldByteCountMax))
        if checksAll || state.listingTime.duration(to: .now) > Self.timePerListing { state.listing = nil }
        if state.listing == nil {
          state.listingTime = .now
          if let folder = (archive as? FolderArchive)?.storage as? SystemStorage {
            if storage is SystemStorage { try FolderPath.refuseNesting(folder.path, with: storage.path) }
            _ = try Store.folder(folder.path)
          }
        }
        // Where somebody removed it, it holds nothing.
        if state.pin?.file.isNamed != true {
          state.pin = try fromStorage(storage.pinIfWritable(.random(in: 0...UInt64.max)))
          // One without a word would keep everything for good.
          if (try? state.pin?.keep(hold)) == nil { state.pin = nil }
        }
        var round = try ShippingRound(
          storage, to: archive, state.listing, hasGap: state.hasGap, checksAll: checksAll, now: clock(),
          progress)
        state.listing = nil
        var isDone = false
        defer { state.hasGap = !isDone && round.summary.hasGap }
        try round.run()
        // Where the two have parted ways, that is looked at anew.
        if round.hasParted { return round.summary }
        state.listing = round.listing
        (hold.revision, hold.keyringGeneration) = (round.summary.revision, round.keyringGeneration)
        try? state.pin?.keep(hold)
        isDone = true
        return round.summary
      } catch {
        throw error.naming(storage.path, or: (archive as? FolderArchive)?.storage.path ?? "")
      }
    }
  }
}

extension Store {
  /// Ships what is new to an archive. Whoever does so again and again has a ``Shipper`` do it.
  ///
  /// - Parameters:
  ///   - archive: Where it is shipped to.
  ///   - checksAll: Whether the objects that the store needs are read in the archive; those that don't check are put again.
  ///   - progress: Told, from time to time, how many bytes of how many are done; its answer says whether to
  ///     go on.
  /// - Returns: What was done.
  /// - Throws: What ``Shipper/ship(checkingAll:progress:)`` throws; `poisoned`, `closed`.
  @discardableResult
  public func ship(
    to archive: any Archive, checkingAll checksAll: Bool = false,
    progress: @escaping (_ done: Int, _ total: Int) -> Bool = { _, _ in true }
  ) throws -> ShippingSummary {
    do throws(NotelogError) { try journal.synchronize() } catch {
      // What another process writes, shipping makes durable itself.
      guard error.code == .readOnly || error.code == .suspended else { throw error.naming(journal.path) }
    }
    return try Shipper(storage, to: archive).ship(checkingAll: checksAll, progress: progress)
  }
}
