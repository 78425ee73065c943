// What somebody types, taken out of the bytes that a terminal sends.

/// A key, or a piece of text.
public enum Key: Equatable, Sendable {
  case text(Character)
  case enter, tab, escape, backspace, delete
  case up, down, left, right, pageUp, pageDown, home, end
  /// A letter with the control key.
  case control(Character)
}

/// Takes keys out of bytes, which may come in pieces.
public struct KeyDecoder: Sendable {
  private var bytes: [UInt8] = []
  private static let sequences: [(String, Key)] = [
    ("[A", .up), ("[B", .down), ("[C", .right), ("[D", .left), ("[5~", .pageUp), ("[6~", .pageDown),
    ("[H", .home), ("[F", .end), ("[1~", .home), ("[4~", .end), ("[3~", .delete), ("OA", .up), ("OB", .down),
    ("OC", .right), ("OD", .left), ("OH", .home), ("OF", .end),
  ]

  /// Nothing was sent yet.
  public init() {}

  /// The keys in what was sent. An escape at the end is the key of that name: a sequence comes in one piece.
  public mutating func keys(in new: some Sequence<UInt8>) -> [Key] {
    bytes += new
    var keys: [Key] = []
    while let (key, count) = next() {
      if let key { keys.append(key) }
      bytes.removeFirst(count)
    }
    return keys
  }

  /// The next key, and the bytes it takes; nil where there is none, or not yet.
  private func next() -> (Key?, Int)? {
    guard let first = bytes.first else { return nil }
    switch first {
    case 13, 10: return (.enter, 1)
    case 9: return (.tab, 1)
    case 8, 127: return (.backspace, 1)
    case 27: return escape()
    case 1...26: return (.control(Character(UnicodeScalar(first + 96))), 1)
    case 0..<32: return (nil, 1)
    default: return text(first)
    }
  }

  private func escape() -> (Key?, Int) {
    let rest = bytes.dropFirst()
    for (sequence, key) in Self.sequences where rest.starts(with: sequence.utf8) {
      return (key, 1 + sequence.utf8.count)
    }
    guard rest.first == UInt8(ascii: "[") else { return (.escape, 1) }
    // A sequence that nobody here knows goes as a whole.
    let end = rest.dropFirst().firstIndex { (0x40...0x7E).contains($0) } ?? bytes.endIndex - 1
    return (nil, end + 1)
  }

  private func text(_ first: UInt8) -> (Key?, Int)? {
    let count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard bytes.count >= count else { return nil }
    guard let text = String(validating: bytes.prefix(count), as: UTF8.self), let character = text.first else {
      return (nil, 1)
    }
    return (.text(character), count)
  }
}
