// How large a segment becomes: FORMAT.md §24, "Space".

/// The size that segments aim at.
enum SegmentSize {
  static let smallest = 1 << 20
  static let largest = 64 << 20
  /// What may be chosen. Smaller ones are many files for little, and a place in larger ones can't be said.
  static let choices = 16 << 10...largest
  /// The most that is preallocated at a time.
  static let allocationStep = 4 << 20

  /// The size for a store with that many live bytes.
  static func aim(liveByteCount: Int) -> Int { min(max(liveByteCount / 16, smallest), largest) }
}
