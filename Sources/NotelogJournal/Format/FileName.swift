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
    // With a digit before them, the zeros need not be counted.
    String(1_000_000_000_000 + UInt64(number)).dropFirst() + segmentSuffix
  }

  /// The name of the file that lists by fingerprint what a segment's footer lists.
  static func sortedFooter(_ number: UInt32) -> String {
    segment(number).dropLast(segmentSuffix.utf8.count) + sortedFooterSuffix
  }

  private static let segmentSuffix = ".journal"
  private static let sortedFooterSuffix = ".index"

  /// The segment number in a file's name; nothing where it is another kind of file.
  package static func segmentNumber(_ name: String) -> UInt32? { segmentNumber(name.utf8.span) }

  /// The segment number in a file's name, as a folder's bytes have it.
  static func segmentNumber(_ name: Span<UInt8>) -> UInt32? { number(name, before: segmentSuffix) }

  /// The number of the segment whose sorted footer has the name; nothing where it is another kind of file.
  static func sortedFooterNumber(_ name: String) -> UInt32? {
    number(name.utf8.span, before: sortedFooterSuffix)
  }

  /// Whether a file is being written under the name, and will get another.
  static func isPartial(_ name: Span<UInt8>) -> Bool {
    let suffix = partialSuffix.utf8.span
    return name.count >= suffix.count && isEqual(name.extracting(last: suffix.count), suffix)
  }

  /// Whether the name is the folder's of tails kept aside.
  static func isTorn(_ name: Span<UInt8>) -> Bool { isEqual(name, torn.utf8.span) }

  private static func isEqual(_ name: Span<UInt8>, _ other: Span<UInt8>) -> Bool {
    guard name.count == other.count else { return false }
    for place in name.indices where name[place] != other[place] { return false }
    return true
  }

  private static func number(_ bytes: Span<UInt8>, before suffix: String) -> UInt32? {
    let suffix = suffix.utf8.span
    guard bytes.count == 12 + suffix.count else { return nil }
    for place in suffix.indices where bytes[12 + place] != suffix[place] { return nil }
    var number: UInt64 = 0
    for place in 0..<12 {
      let digit = bytes[place]
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
      number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    return UInt32(exactly: number).flatMap { isSegmentNumber($0) ? $0 : nil }
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

  /// The name under which a cut tail is kept aside; copies are other tails that were cut at the same place before.
  static func tail(of number: UInt32, at offset: Int, copy: Int = 0) -> String {
    "\(torn)/\(number)-\(offset)\(copy == 0 ? "" : "-\(copy)").tail"
  }

  /// A pin's path.
  static func pin(_ name: String) -> String { "\(pins)/\(name)" }

  /// The segment number in the name of a tail kept aside.
  static func tailSegmentNumber(_ name: String) -> UInt32? {
    guard name.hasSuffix(".tail") else { return nil }
    guard let number = name.split(separator: "-").first.flatMap({ UInt32($0) }), isSegmentNumber(number)
    else {
      return nil
    }
    return number
  }
}
