// The names of a store's files: FORMAT.md §3.

/// The names that files have in a store's folder.
package enum FileName {
  package static let lock = "lock"
  /// Who waits for the lock has this one locked.
  package static let waiting = "waiting"
  package static let reserve = "reserve"
  package static let index = "index"
  package static let torn = "torn"
  package static let pins = "pins"
  package static let keyring = "keyring"
  package static let keyringCopy = "keyring.copy"
  package static let schemas = "schemas"
  /// What says that a store is being made, and what says that it was made.
  package static let creating = "creating"
  package static let created = "created"
  package static let partialSuffix = ".partial"

  /// The name of the file with a named key's effaceable secret.
  package static func effaceable(_ number: UInt16) -> String {
    String(100_000 + UInt32(number)).dropFirst() + ".effaceable"
  }
  package static func isEffaceable(_ name: String) -> Bool {
    UInt16(name.prefix(5)).map { effaceable($0) == name } ?? false
  }

  /// The name of a further keyring: its generation, and the first bytes of its SHA-256.
  package static func furtherKeyring(_ generation: UInt64, _ fingerprint: UInt64) -> String {
    "k-\(String(generation, digits: 10))-\(String(fingerprint, digits: -16))"
  }

  /// The name of a segment's file.
  package static func segment(_ number: UInt32) -> String {
    // With a digit before them, the zeros need not be counted.
    String(1_000_000_000_000 + UInt64(number)).dropFirst() + segmentSuffix
  }

  private static let segmentSuffix = ".journal"

  /// The segment number in a file's name; nothing where it is another kind of file.
  package static func segmentNumber(_ name: String) -> UInt32? { segmentNumber(name.utf8.span) }

  /// The segment number in a file's name, as a folder's bytes have it.
  package static func segmentNumber(_ name: Span<UInt8>) -> UInt32? {
    let suffix = segmentSuffix.utf8.span
    guard name.count == 12 + suffix.count else { return nil }
    for place in suffix.indices where name[12 + place] != suffix[place] { return nil }
    var number: UInt64 = 0
    for place in 0..<12 {
      let digit = name[place]
      guard digit >= UInt8(ascii: "0"), digit <= UInt8(ascii: "9") else { return nil }
      number = number * 10 + UInt64(digit - UInt8(ascii: "0"))
    }
    return UInt32(exactly: number).flatMap { isSegmentNumber($0) ? $0 : nil }
  }

  /// Whether the store writes a file under the name, to give it another. Whatever else ends like that is none
  /// of ours.
  package static func isPartial(_ name: String) -> Bool {
    guard name.hasSuffix(partialSuffix) else { return false }
    let whole = String(name.dropLast(partialSuffix.count))
    return segmentNumber(whole) != nil || [index, keyring, keyringCopy, schemas].contains(whole)
  }

  /// Whether a segment can have the number.
  package static func isSegmentNumber(_ number: UInt32) -> Bool {
    number > 0 && number <= FormatLimits.maximumSegmentNumber
  }

  /// The name under which a cut tail is kept aside; copies are other tails that were cut at the same place
  /// before.
  package static func tail(of number: UInt32, at offset: Int, copy: Int = 0) -> String {
    "\(torn)/\(number)-\(offset)\(copy == 0 ? "" : "-\(copy)").tail"
  }

  /// A pin's path.
  package static func pin(_ name: String) -> String { "\(pins)/\(name)" }

  /// The name of a pin of a process.
  package static func pin(of process: Int32, serial: UInt64) -> String {
    "\(process)-\(String(serial, radix: 16)).pin"
  }

  /// Whether a name is a pin's.
  package static func isPin(_ name: String) -> Bool {
    guard name.hasSuffix(".pin") else { return false }
    let parts = name.dropLast(4).split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let process = Int32(parts[0]), let serial = UInt64(parts[1], radix: 16) else {
      return false
    }
    return pin(of: process, serial: serial) == name
  }

  /// The segment number in the name of a tail kept aside.
  package static func tailSegmentNumber(_ name: String) -> UInt32? {
    guard name.hasSuffix(".tail") else { return nil }
    let number = name.split(separator: "-").first.flatMap { UInt32($0) }
    return number.flatMap { isSegmentNumber($0) ? $0 : nil }
  }
}

extension String {
  /// A number with zeros before it, up to so many digits: hexadecimal ones where that is negative.
  package init(_ number: some BinaryInteger, digits: Int) {
    let text = String(number, radix: digits < 0 ? 16 : 10)
    self.init(String(repeating: "0", count: Swift.max(0, abs(digits) - text.count)) + text)
  }
}
