// Notes that follow from their numbers, for stores too large to keep what was written in memory.
import Foundation
import Notelog

enum NumberedNote {
  /// A note, short unless a body is given.
  static func make(_ number: Int, body: String = "") -> Note {
    Note(
      id: id(number), time: Date(timeIntervalSince1970: Double(number)), title: "note \(number)", body: body)
  }

  /// The id of a note: looks random, and follows from its number.
  static func id(_ number: Int) -> RecordID {
    var state = UInt64(truncatingIfNeeded: number)
    let (first, second) = (mix(&state), mix(&state))
    func byte(_ word: UInt64, _ index: UInt64) -> UInt8 { UInt8(truncatingIfNeeded: word >> (8 * index)) }
    return RecordID(
      UUID(
        uuid: (
          byte(first, 0), byte(first, 1), byte(first, 2), byte(first, 3), byte(first, 4), byte(first, 5),
          byte(first, 6), byte(first, 7), byte(second, 0), byte(second, 1), byte(second, 2), byte(second, 3),
          byte(second, 4), byte(second, 5), byte(second, 6), byte(second, 7)
        )))
  }

  /// The next of a row of numbers that look random.
  static func mix(_ state: inout UInt64) -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var value = (state ^ state >> 30) &* 0xBF58_476D_1CE4_E5B9
    value = (value ^ value >> 27) &* 0x94D0_49BB_1331_11EB
    return value ^ value >> 31
  }
}
