// Compression of single values: what comes back is exactly as long as it should be, or nothing. FORMAT.md
// §7.3.

import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct DeflateTests {
  private let bytes = (0..<6_000).map { UInt8(truncatingIfNeeded: $0 % 50) }

  private func inflate(_ stream: [UInt8], _ byteCount: Int) -> [UInt8]? {
    stream.rawSpan.inflated(to: byteCount)
  }

  private func compress(_ bytes: [UInt8]) throws -> [UInt8] {
    let stream = bytes.rawSpan.deflated()
    return try #require(stream)
  }

  @Test func `a stream gives back what it was made of`() throws {
    let stream = try compress(bytes)
    #expect(stream.count < bytes.count / 10)
    #expect(inflate(stream, bytes.count) == bytes)
  }

  @Test func `a length that is not the stream's, bytes behind it, and a part of it give nothing`() throws {
    let stream = try compress(bytes)
    for byteCount in [0, 1, bytes.count - 1, bytes.count + 1, 2 * bytes.count] {
      #expect(inflate(stream, byteCount) == nil)
    }
    #expect(inflate(stream + [0], bytes.count) == nil)
    #expect(inflate(stream + stream, bytes.count) == nil)
    for count in 0..<stream.count { #expect(inflate(Array(stream.prefix(count)), bytes.count) == nil) }
  }

  @Test func `a stream with any bit flipped gives nothing else`() throws {
    let stream = try compress(bytes)
    for bit in 0..<8 * stream.count {
      var damaged = stream
      damaged[bit / 8] ^= 1 << (bit % 8)
      let found = inflate(damaged, bytes.count)
      #expect(found == nil || found == bytes)
    }
  }

  /// A few kilobytes that would become sixteen megabytes are not inflated beyond what was asked for.
  @Test func `no more is made than was asked for`() throws {
    let zeros = [UInt8](repeating: 0, count: 16 << 20)
    let stream = try compress(zeros)
    #expect(stream.count < 32 << 10)
    #expect(inflate(stream, 1_000) == nil)
  }
}
