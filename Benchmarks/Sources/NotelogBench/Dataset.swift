// The notes that every workload uses: the same for the same seed, whatever the engine.
import Foundation
import Notelog

/// A note as the workloads keep it.
struct Note: Record {
  var id = RecordID()
  var time = Date(timeIntervalSinceReferenceDate: 0)
  var title = ""
  var body = ""

  static let schema = Schema<Note>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body)
  }
}

/// Notes of random letters: titles of 16 to 48 bytes, bodies of 100 to 700.
struct Dataset {
  let notes: [Note]

  init(count: Int, seed: UInt64 = 1) {
    var random = SplitMix(state: seed)
    notes = (0..<count).map { index in
      Note(
        id: RecordID(UUID(uuid: random.uuid())), time: Date(timeIntervalSinceReferenceDate: Double(index)),
        title: random.letters(16...48), body: random.letters(100...700))
    }
  }

  /// Bytes of all titles and bodies.
  var logicalByteCount: Int { notes.reduce(0) { $0 + $1.title.utf8.count + $1.body.utf8.count } }
}

/// A small generator whose numbers are the same everywhere.
struct SplitMix: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
    return mixed ^ mixed >> 31
  }

  mutating func letters(_ counts: ClosedRange<Int>) -> String {
    let count = Int.random(in: counts, using: &self)
    return String(decoding: (0..<count).map { _ in UInt8.random(in: 97...122, using: &self) }, as: UTF8.self)
  }

  mutating func uuid() -> uuid_t {
    let (a, b) = (next(), next())
    let bytes =
      (0..<8).map { UInt8(truncatingIfNeeded: a >> (8 * $0)) }
      + (0..<8).map { UInt8(truncatingIfNeeded: b >> (8 * $0)) }
    return (
      bytes[0], bytes[1], bytes[2], bytes[3], bytes[4], bytes[5], bytes[6], bytes[7], bytes[8], bytes[9],
      bytes[10],
      bytes[11], bytes[12], bytes[13], bytes[14], bytes[15]
    )
  }
}
