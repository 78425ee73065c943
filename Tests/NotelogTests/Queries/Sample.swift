// A record with an indexed field of every type that conditions are asked about.

import Foundation
import Notelog
import NotelogTestSupport

/// A type of an app's own: it is stored as a text, and orders by rank.
enum Priority: String, CaseIterable, Comparable, FieldValue {
  case low
  case high
  case urgent

  var stored: String { rawValue }

  init(stored: String) throws {
    guard let priority = Priority(rawValue: stored) else {
      throw NotelogError(.typeMismatch, "no priority is \(stored)")
    }
    self = priority
  }

  private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }

  static func < (left: Priority, right: Priority) -> Bool { left.rank < right.rank }
}

struct Sample: Record {
  var id = RecordID()
  var flag = false
  var count = 0
  var small: UInt8 = 0
  var ratio = 0.0
  var name = ""
  var perhaps: String?
  var raw: [UInt8] = []
  var priority = Priority.low
  var moment = Date(timeIntervalSinceReferenceDate: 0)
  var uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  var title = ""
  static let schema = Schema<Sample>("sample") {
    Plain("flag", \.flag, indexed: true)
    Plain("count", \.count, indexed: true)
    Plain("small", \.small)
    Plain("ratio", \.ratio, indexed: true)
    Plain("name", \.name, indexed: true)
    Plain("perhaps", \.perhaps, indexed: true)
    Plain("raw", \.raw, indexed: true)
    Plain("priority", \.priority, indexed: true)
    Plain("moment", \.moment, indexed: true)
    Plain("uuid", \.uuid, indexed: true)
    Sealed("title", \.title)
  }
}

extension Sample {
  /// Texts that are near each other in one order or another: composed and not, long with one beginning, not
  /// of ASCII.
  static let names =
    [
      "", "a", "a\0", "abc", "K", "\u{212A}", "K2", "\u{212A}2", "e", "e\u{301}", "\u{E9}", "f", "xe\u{301}y",
      "x\u{E9}y", ";", "\u{37E}", "<\u{338}", "\u{226E}", "日記", "\u{1F469}\u{200D}\u{1F680}",
    ] + ["a", "b", "\u{E9}", "e\u{301}"].map { "sixteen and more " + $0 }
    + ["a", "b", "\u{E9}", "e\u{301}"].map { String(repeating: "sixty-four and more ", count: 4) + $0 }

  static let ratios = [0, -0.0, 1.5, -1.5, .infinity, -.infinity, .nan, 1e-300, 7, 8, 9, 10, 11, 12]

  static func random(_ id: RecordID, _ random: inout SeededGenerator) -> Sample {
    Sample(
      id: id, flag: random.oneIn(12), count: random.pick(-40..<40), small: UInt8(random.pick(0..<4)),
      ratio: ratios[random.pick(0..<ratios.count)], name: names[random.pick(0..<names.count)],
      perhaps: random.oneIn(3) ? nil : names[random.pick(0..<names.count)],
      raw: random.bytes(count: random.pick(0..<2)), priority: Priority.allCases[random.pick(0..<3)],
      moment: Date(timeIntervalSinceReferenceDate: Double(random.pick(0..<60))),
      uuid: uuid(random.pick(0..<30)),
      title: "title \(random.pick(0..<9))")
  }

  static func uuid(_ number: Int) -> UUID {
    UUID(uuid: (UInt8(number), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, UInt8(number)))
  }
}
