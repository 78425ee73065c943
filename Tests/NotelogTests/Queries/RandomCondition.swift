// A random condition, and the same as a closure over records.

import Foundation
import Notelog
import NotelogTestSupport

/// A condition on one field, or several joined by and, or and not.
struct RandomCondition {
  private(set) var condition: QueryCondition<Sample>
  private(set) var holds: (Sample) -> Bool
  private(set) var words: String

  init(_ random: inout SeededGenerator, depth: Int, mayOpen: Bool) {
    func next() -> RandomCondition { RandomCondition(&random, depth: depth - 1, mayOpen: mayOpen) }
    switch depth == 0 ? 9 : random.pick(0..<6) {
    case 0:
      let (left, right) = (next(), next())
      self.init(left.condition && right.condition, "(\(left.words) and \(right.words))") {
        left.holds($0) && right.holds($0)
      }
    case 1, 2:
      let (left, right) = (next(), next())
      self.init(left.condition || right.condition, "(\(left.words) or \(right.words))") {
        left.holds($0) || right.holds($0)
      }
    case 3:
      let one = next()
      self.init(!one.condition, "not \(one.words)") { !one.holds($0) }
    default: self = Self.onField(&random, mayOpen: mayOpen)
    }
  }

  private init(
    _ condition: QueryCondition<Sample>, _ words: String, _ holds: @escaping (Sample) -> Bool
  ) {
    self.condition = condition
    self.words = words
    self.holds = holds
  }

  private static func onField(_ random: inout SeededGenerator, mayOpen: Bool) -> RandomCondition {
    switch random.pick(0..<(mayOpen ? 18 : 16)) {
    case 0: field(\.flag, is: random.oneIn(2))
    case 1: field(\.count, is: random.pick(-45..<45))
    case 2: range(\.count, random.pick(-45..<45), random.pick(0..<12), &random) { $0 + $1 }
    case 3: field(\.ratio, is: Sample.ratios[random.pick(0..<Sample.ratios.count)])
    case 4: range(\.ratio, Double(random.pick(-3..<12)), Double(random.pick(0..<3)), &random) { $0 + $1 }
    case 5: field(\.moment, is: date(random.pick(0..<60)))
    case 6: range(\.moment, date(random.pick(0..<60)), Double(random.pick(0..<9)), &random) { $0 + $1 }
    case 7: field(\.uuid, is: Sample.uuid(random.pick(0..<32)))
    case 8: field(\.priority, is: Priority.allCases[random.pick(0..<3)])
    case 9:
      RandomCondition(.field(\.priority, in: Priority.high...), "priority from high") {
        $0.priority == .high || $0.priority == .urgent
      }
    case 10: range(\.small, UInt8(random.pick(0..<4)), UInt8(1), &random) { $0 + $1 }
    case 11: field(\.count, in: (0..<random.pick(0..<5)).map { _ in random.pick(-45..<45) })
    case 12:
      random.oneIn(2)
        ? field(\.uuid, in: (0..<random.pick(0..<4)).map { _ in Sample.uuid(random.pick(0..<32)) })
        : field(\.priority, in: Priority.allCases.filter { _ in random.oneIn(2) })
    case 13: optional(&random)
    case 14: text(&random)
    case 15:
      range(\.id, RecordID(high: random.next() / 2, low: 0), UInt64.max, &random) {
        RecordID(high: $1, low: 0)
      }
    case 16: field(\.title, is: "title \(random.pick(0..<9))")
    default:
      RandomCondition(.field(\.title, satisfies: { $0 < "title 5" }), "title before 5") {
        $0.title < "title 5"
      }
    }
  }

  private static func date(_ seconds: Int) -> Date { Date(timeIntervalSinceReferenceDate: Double(seconds)) }

  private static func field<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<Sample, Value>, is value: Value
  ) -> RandomCondition {
    RandomCondition(.field(path, is: value), "\(path) is \(value)") { $0[keyPath: path] == value }
  }

  private static func field<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<Sample, Value>, in values: [Value]
  ) -> RandomCondition {
    RandomCondition(.field(path, in: values), "\(path) is in \(values)") { sample in
      values.contains { $0 == sample[keyPath: path] }
    }
  }

  private static func range<Value: Comparable & Sendable, Step>(
    _ path: FieldKeyPath<Sample, Value>, _ start: Value, _ step: Step, _ random: inout SeededGenerator,
    _ plus: (Value, Step) -> Value
  ) -> RandomCondition {
    let end = plus(start, step)
    return switch random.pick(0..<5) {
    case 0:
      RandomCondition(.field(path, in: start...), "\(path) in \(start)...") { $0[keyPath: path] >= start }
    case 1:
      RandomCondition(.field(path, in: ..<start), "\(path) in ..<\(start)") { $0[keyPath: path] < start }
    case 2:
      RandomCondition(.field(path, in: ...start), "\(path) in ...\(start)") { $0[keyPath: path] <= start }
    case 3:
      RandomCondition(.field(path, in: start..<end), "\(path) in \(start)..<\(end)") {
        $0[keyPath: path] >= start && $0[keyPath: path] < end
      }
    default:
      RandomCondition(.field(path, in: start...end), "\(path) in \(start)...\(end)") {
        $0[keyPath: path] >= start && $0[keyPath: path] <= end
      }
    }
  }

  // MARK: - Texts, by their bytes

  private static func shown(_ text: String) -> String {
    text.unicodeScalars.map { String($0.value, radix: 16) }.joined(separator: " ")
  }

  private static func someName(_ random: inout SeededGenerator) -> String {
    Sample.names[random.pick(0..<Sample.names.count)]
  }

  /// A text that names begin with, or none.
  private static func prefix(_ random: inout SeededGenerator) -> String {
    let name = someName(&random)
    return String(name.prefix(random.oneIn(3) ? name.count : random.pick(0..<3)))
  }

  private static func text(_ random: inout SeededGenerator) -> RandomCondition {
    let name = someName(&random)
    let bytes = Array(name.utf8)
    switch random.pick(0..<7) {
    case 0:
      return RandomCondition(.field(\.name, in: name...), "name from \(shown(name))") {
        !$0.name.utf8.lexicographicallyPrecedes(bytes)
      }
    case 1:
      return RandomCondition(.field(\.name, in: ..<name), "name before \(shown(name))") {
        $0.name.utf8.lexicographicallyPrecedes(bytes)
      }
    case 2:
      return RandomCondition(.field(\.name, in: ...name), "name through \(shown(name))") {
        !bytes.lexicographicallyPrecedes($0.name.utf8)
      }
    case 3, 4:
      let prefix = prefix(&random)
      return RandomCondition(.field(\.name, hasPrefix: prefix), "name begins with \(shown(prefix))") {
        $0.name.utf8.starts(with: prefix.utf8)
      }
    case 5:
      let names = (0..<random.pick(0..<4)).map { _ in someName(&random) }
      let all = names.map { Array($0.utf8) }
      return RandomCondition(.field(\.name, in: names), "name in \(names.map(shown))") {
        all.contains(Array($0.name.utf8))
      }
    default:
      return RandomCondition(.field(\.name, is: name), "name is \(shown(name))") {
        Array($0.name.utf8) == bytes
      }
    }
  }

  private static func optional(_ random: inout SeededGenerator) -> RandomCondition {
    let name = someName(&random)
    let bytes = Array(name.utf8)
    switch random.pick(0..<8) {
    case 0: return RandomCondition(.field(\.perhaps, is: nil), "perhaps is nil") { $0.perhaps == nil }
    case 1: return RandomCondition(.field(\.perhaps, isNot: nil), "perhaps is not nil") { $0.perhaps != nil }
    case 2:
      return RandomCondition(.field(\.perhaps, isNot: name), "perhaps is not \(shown(name))") {
        $0.perhaps.map { Array($0.utf8) } != bytes
      }
    case 3:
      return RandomCondition(.field(\.perhaps, in: name...), "perhaps from \(shown(name))") {
        $0.perhaps.map { !$0.utf8.lexicographicallyPrecedes(bytes) } ?? false
      }
    case 4:
      return RandomCondition(.field(\.perhaps, in: ..<name), "perhaps before \(shown(name))") {
        $0.perhaps.map { $0.utf8.lexicographicallyPrecedes(bytes) } ?? false
      }
    case 5:
      let prefix = prefix(&random)
      return RandomCondition(.field(\.perhaps, hasPrefix: prefix), "perhaps begins with \(shown(prefix))") {
        $0.perhaps?.utf8.starts(with: prefix.utf8) ?? false
      }
    case 6:
      return RandomCondition(.field(\.perhaps, in: [nil, name]), "perhaps in nil, \(shown(name))") {
        $0.perhaps.map { Array($0.utf8) == bytes } ?? true
      }
    default:
      return RandomCondition(.field(\.perhaps, is: name), "perhaps is \(shown(name))") {
        $0.perhaps.map { Array($0.utf8) } == bytes
      }
    }
  }
}
