// The names of a store's files: FORMAT.md §3.

/// The names that files have in a store's folder.
package enum FileName {
  package static let lock = "lock"
  package static let reserve = "reserve"
  package static let index = "index"
  package static let torn = "torn"
  package static let pins = "pins"
  package static let partialSuffix = ".partial"

  /// The name of a segment's file.
  package static func segment(_ number: UInt32) -> String {
    let digits = String(number)
    return String(repeating: "0", count: 12 - digits.count) + digits + ".journal"
  }

  /// The segment number in a file's name; nothing where it is another kind of file.
  package static func segmentNumber(_ name: String) -> UInt32? {
    guard name.utf8.count == 20, name.hasSuffix(".journal") else { return nil }
    let digits = name.utf8.prefix(12)
    guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
    return segmentNumber(digits: name.prefix(12))
  }

  /// Whether a segment can have the number.
  static func isSegmentNumber(_ number: UInt32) -> Bool {
    number > 0 && number <= Limits.maximumSegmentNumber
  }

  /// The number of the next segment.
  static func segmentNumber(after number: UInt32) throws(JournalError) -> UInt32 {
    guard number < Limits.maximumSegmentNumber else {
      throw JournalError(
        .limitExceeded, "the store has used all of its segment numbers; dump it and import it anew")
    }
    return number + 1
  }

  private static func segmentNumber(digits: Substring) -> UInt32? {
    UInt32(digits).flatMap { isSegmentNumber($0) ? $0 : nil }
  }

  /// The name under which a cut tail is kept aside.
  static func tail(of number: UInt32, at offset: Int) -> String { "\(torn)/\(number)-\(offset).tail" }

  /// A pin's path.
  static func pin(_ name: String) -> String { "\(pins)/\(name)" }

  /// The segment number in the name of a tail kept aside.
  static func tailSegmentNumber(_ name: String) -> UInt32? {
    guard name.hasSuffix(".tail") else { return nil }
    return name.split(separator: "-").first.flatMap { segmentNumber(digits: $0) }
  }
}
