// Changes to bytes that are sound: an input of them starts where a reader's first checks have passed.

/// What an input says is to be done to a file.
enum Edits {
  private static let byteCountMax = 1 << 20

  /// Makes the changes that an input consists of, up to its end.
  static func apply(_ input: inout InputReader, to bytes: inout [UInt8]) {
    while !input.isAtEnd {
      let verb = input.integer(UInt8.self)
      let place = Int(input.integer(UInt16.self)) % (bytes.count + 1)
      switch verb & 3 {
      case 0, 1:
        let content = input.bytes(Int(verb >> 2 & 15) + 1)
        bytes.replaceSubrange(place..<min(bytes.count, place + content.count), with: content)
      case 2: bytes.removeSubrange(place...)
      default:
        let count = Int(input.integer(UInt16.self))
        guard bytes.count + count <= byteCountMax else { return }
        bytes.insert(contentsOf: [UInt8](repeating: 0, count: count), at: place)
      }
    }
  }
}
