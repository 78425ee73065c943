// Compressed values: FORMAT.md 7.3.

@testable import NotelogStorage
@testable import NotelogFormat
@testable import Notelog
@testable import NotelogBase

/// Inflates a stream, and holds whatever it becomes to its declared length.
enum InflateTarget: FuzzTarget {
  static func seeds() -> [[UInt8]] {
    [[UInt8](repeating: 7, count: 100), Array("a text, a text, a text, and another text".utf8)].compactMap {
      value in
      value.rawSpan.deflated().map { stream in
        var seed: [UInt8] = []
        seed.append(integer: UInt32(value.count))
        return seed + stream
      }
    }
  }

  static func run(_ input: [UInt8]) {
    var reader = InputReader(input)
    let byteCount = Int(reader.integer(UInt32.self)) % (1 << 20)
    let stream = reader.rest()
    let value = stream.rawSpan.inflated(to: byteCount)
    expect(value == nil || value?.count == byteCount, "inflated to another length")
  }
}
