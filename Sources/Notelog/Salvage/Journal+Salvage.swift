// Saving what can be read of a store that is past opening: docs/maintenance.md, "Salvage".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Journal {
  /// Copies everything that can be read of a pile of segments into a new store's journal.
  ///
  /// The pile may lack segments, have them twice or damaged, without headers or under other names. Each record is
  /// saved in its newest version; what was deleted stays deleted. The pile is only read.
  ///
  /// - Parameters:
  ///   - source: The folder with the pile.
  ///   - target: An empty folder.
  ///   - storeID: The store to salvage, where the pile holds several; otherwise the one that most bytes belong to.
  ///   - keepsPossiblyStale: Whether a record whose newest version is lost is saved in an older one.
  ///   - options: As for creating the new store.
  ///   - progress: Told how far it has come, after each file.
  /// - Returns: What was saved and what could not be, place by place.
  /// - Throws: `notAStore` where nothing says which store it is; `alreadyExists`, `busy`, `full`, `inputOutput` of the target;
  ///   `cancelled`.
  static func salvage(
    from source: any Storage, to target: any Storage, storeID: ID16? = nil,
    keepsPossiblyStale: Bool = false, options: JournalOptions = JournalOptions(),
    progress: @escaping WorkProgress.Report = { _, _ in true }
  ) throws(NotelogError) -> SalvageSummary {
    let lock = try takeLock(target)
    defer { lock.close() }
    let names = try fromStorage(target.names(in: ""))
    guard !names.contains(where: { FileName.segmentNumber($0) != nil }) else {
      throw NotelogError(.alreadyExists, "there is a store here already")
    }
    // What an earlier salvage left unfinished.
    for name in names where FileName.isPartial(name) {
      try fromStorage(target.remove(name))
    }
    var salvage = Salvage(
      from: source, to: target, options: options, keepsPossiblyStale: keepsPossiblyStale)
    return try salvage.run(storeID: storeID, progress)
  }

  /// The store that a pile of segments is of: the keyring's, if any file is; otherwise the one that most bytes belong to.
  static func storeToSalvage(
    in source: any Storage, keyring: ID16?
  ) throws(NotelogError) -> ID16? {
    try SalvagePile.store(in: source, keyring: keyring)
  }
}
