// What an attachment costs the other fields of its record: run by name, optimised, with NOTELOG_SCALE=1.

import NotelogTestSupport
import Testing

@testable import Notelog

@Suite(.enabled(if: TestEffort.variable("NOTELOG_SCALE") != nil), .serialized)
struct AttachmentScaleTests {
  /// Records with an attachment of 10 MiB and without, read in turn: the ratio of a round is of one moment.
  @Test func `a short field beside an attachment takes at most 1.2 times as long`() throws {
    let folder = try TemporaryFolder()
    var store = try folder.create()
    let plain = (0..<16).map { _ in Letter(subject: "thirty bytes, no more, no less") }
    let heavy = (0..<16).map { number in
      Letter(subject: "thirty bytes, no more, no less", scan: noise(10 << 20, seed: UInt64(number + 1)))
    }
    for letter in plain + heavy { try store.write { tx in try tx.put(letter) } }
    for isReopened in [false, true] {
      if isReopened {
        try store.close()
        store = try folder.open()
      }
      let field = try store.field(\Letter.subject)
      var buffer = ValueBuffer()
      let clock = ContinuousClock()
      func time(_ letters: [Letter]) throws -> Duration {
        try clock.measure {
          for _ in 0..<200 {
            for letter in letters {
              guard try store.read(field, of: letter.id, into: &buffer), buffer.bytes.byteCount == 30 else {
                Issue.record("the subject is gone")
                return
              }
            }
          }
        }
      }
      _ = try (time(plain), time(heavy))
      let ratios = try (0..<101).map { round in
        let first = try time(round.isMultiple(of: 2) ? plain : heavy)
        let second = try time(round.isMultiple(of: 2) ? heavy : plain)
        return round.isMultiple(of: 2) ? second / first : first / second
      }.sorted()
      print("beside an attachment:", ratios[50], "of the time; reopened:", isReopened)
      #expect(ratios[50] <= 1.2)
    }
    try store.close()
  }
}
