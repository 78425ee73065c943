// What compressing a secret together with somebody else's text gives away: SECURITY.md, A4.

import Foundation
import Testing

@testable import Notelog

/// A text by others and a secret of ours, compressed together.
private struct Page: Record {
  var id = RecordID()
  var text = ""
  static let schema = Schema<Page>("page") { Sealed("text", \.text, compressed: true) }
}

@Suite struct CompressionLeakTests {
  private static let letters = Array("0123456789abcdef").map(String.init)
  private static let base = String(repeating: "nothing to see here, ", count: 20)

  /// Characters that deflate makes little shorter, so that each of them moves the size on.
  private static let filler: [String] = {
    var state: UInt32 = 3
    return (0..<16).map { _ in
      state = (state &* 1_103_515_245 &+ 12_345) & 0x7FFF_FFFF
      return String(UnicodeScalar(UInt8(0x30 + (state >> 16) % 75)))
    }
  }()

  /// No bug, and no promise: the attack that SECURITY.md warns of. Whoever may choose a part of the field and
  /// sees sizes, without any key, learns the secret beside it letter by letter, padding or not: a fitting
  /// guess takes a byte less, and text of theirs that fills up to a bucket's edge shows that byte.
  @Test func `a secret beside an attacker's text in one compressed field is learned from sizes alone`() throws
  {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let secret = "token=7d3a91"
    /// The sizes that a locked store shows of pages with a guess in them, over a whole bucket of fillers.
    func size(_ guess: String) throws -> Int {
      let pages = Self.filler.indices.map { count in
        Page(text: Self.base + guess + "\n" + Self.filler[..<count].joined() + "\n" + secret)
      }
      try store.putAll(pages, .buffered)
      let collection = try store.collection("page")
      return try pages.reduce(0) { total, page in
        total + (try #require(try collection.get(page.id))).fields[0].storedByteCount
      }
    }
    var known = "token="
    while known.count < secret.count {
      // The same letters twice, in an order that fits the secret and in one that doesn't: what differs is the
      // match alone.
      let gains = try Self.letters.map { letter in
        (letter: letter, gain: try size(known + "~!" + letter + "@") - size(known + letter + "~!@"))
      }
      known += try #require(gains.max { $0.gain < $1.gain }).letter
    }
    #expect(known == secret)
  }
}
