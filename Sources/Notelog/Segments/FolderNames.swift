// What the names in a store's folder tell, before any file is opened: FORMAT.md §3.

import NotelogFormat
import NotelogStorage

extension FileName {
  /// The number of the next segment.
  static func segmentNumber(after number: UInt32) throws(NotelogError) -> UInt32 {
    guard number < FormatLimits.maximumSegmentNumber else {
      throw NotelogError(
        .limitExceeded, "the store has used all of its segment numbers; dump it and import it anew")
    }
    return number + 1
  }
}

/// The names in a store's folder, as far as they matter to whoever knows the segments already.
struct FolderNames {
  /// All segments' numbers, ascending.
  let numbers: [UInt32]
  /// The highest number that any name bears, those of tails kept aside among them.
  let highest: UInt32
  /// Whether somebody left a file half written.
  let hasPartials: Bool

  init(_ storage: any Storage) throws(NotelogError) {
    var (numbers, hasPartials, hasTails) = ([UInt32](), false, false)
    try fromStorage(
      storage.forEachName(in: "") { name in
        if let number = FileName.segmentNumber(name) {
          numbers.append(number)
        } else {
          hasPartials = hasPartials || FileName.isPartial(name)
          hasTails = hasTails || FileName.isTorn(name)
        }
      })
    self.numbers = numbers.sorted()
    self.hasPartials = hasPartials
    let tail = hasTails ? try Survey.highestTailNumber(in: storage) ?? 0 : 0
    highest = max(self.numbers.last ?? 0, tail)
  }
}
