// What somebody types, taken out of the bytes that a terminal sends.

/// A key, or a character of text.
public enum Key: Equatable, Sendable {
  case text(Character)
  case enter, tab, escape, backspace, delete
  case up, down, left, right, pageUp, pageDown, home, end
  /// A letter with the control key.
  case control(Character)
}

/// Takes keys out of bytes, which may come in pieces.
struct KeyDecoder {
  private var bytes: [UInt8] = []
  private static let sequences: [(String, Key)] = [
    ("[A", .up), ("[B", .down), ("[C", .right), ("[D", .left), ("[5~", .pageUp), ("[6~", .pageDown),
    ("[H", .home), ("[F", .end), ("[1~", .home), ("[4~", .end), ("[3~", .delete), ("OA", .up), ("OB", .down),
    ("OC", .right), ("OD", .left), ("OH", .home), ("OF", .end),
  ]

  /// Whether more bytes would make one key of what is left.
  var isInMiddle: Bool { !bytes.isEmpty }

  /// The keys in what was sent so far; where that is all for now, a lone escape is the key of that name.
  mutating func keys(in new: some Sequence<UInt8>, isAll: Bool) -> [Key] {
    bytes += new
    var keys: [Key] = []
    while let first = bytes.first {
      guard let (key, count) = first == 27 ? escape(isAll) : other(first, isAll) else { break }
      if let key { keys.append(key) }
      bytes.removeFirst(count)
    }
    return keys
  }

  /// The key that an escape begins, and its bytes; nil where they are not all there.
  private func escape(_ isAll: Bool) -> (Key?, Int)? {
    let rest = bytes.dropFirst()
    for (sequence, key) in Self.sequences where rest.starts(with: sequence.utf8) {
      return (key, 1 + sequence.utf8.count)
    }
    switch rest.first {
    case nil: return isAll ? (.escape, 1) : nil
    case UInt8(ascii: "["), UInt8(ascii: "O"):
      // A sequence that nobody here knows goes as a whole.
      if let end = rest.dropFirst().firstIndex(where: { (0x40...0x7E).contains($0) }) {
        return (nil, end + 1)
      }
      return isAll ? (nil, bytes.count) : nil
    default: return (.escape, 1)
    }
  }

  private func other(_ first: UInt8, _ isAll: Bool) -> (Key?, Int)? {
    switch first {
    case 10, 13: return (.enter, 1)
    case 9: return (.tab, 1)
    case 8, 127: return (.backspace, 1)
    case 1...26: return (.control(Character(UnicodeScalar(first + 96))), 1)
    case 0..<32: return (nil, 1)
    default: break
    }
    let count = first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4
    guard bytes.count >= count else { return isAll ? (nil, bytes.count) : nil }
    guard let text = String(validating: bytes.prefix(count), as: UTF8.self), let character = text.first else {
      return (nil, 1)
    }
    return (.text(character), count)
  }
}
