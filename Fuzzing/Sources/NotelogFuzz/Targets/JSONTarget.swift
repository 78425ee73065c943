// The lines that `notelog import` takes.

import Foundation
import Notelog

/// Reads a line as the tool does: JSON, and in it values of any field's type. The tool's files are links.
enum JSONTarget: FuzzTarget {
  static func seeds() throws -> [[UInt8]] {
    let values: [(String, DynamicValue)] = [
      ("a", .missing), ("b", .boolean(true)), ("c", .integer(.min)), ("d", .unsigned(.max)),
      ("e", .double(-0.1e-200)), ("f", .double(.nan)), ("g", .text("\u{1F600}\n\"\\\u{7F}")),
      ("h", .bytes([0, 1, 255])), ("i", .date(Date(timeIntervalSinceReferenceDate: -1.5))),
      ("j", .date(Date(timeIntervalSinceReferenceDate: 1e14))), ("k", .uuid(UUID())),
      ("l", .url(URL(filePath: "/a b"))), ("m", .json(Array("{\"a\":[1,2e3,null]}".utf8))),
    ]
    let fields = JSONValue.object(values.map { .init(name: $0, value: $1.json) })
    let json: JSONValue = ["id": UUID().uuidString, "fields": fields]
    return [Array(json.text.utf8), Array("[\"2026-11-20T10:38:43.25+01:30\",\"\\ud83d\\ude00\"]".utf8)]
  }

  static func run(_ input: [UInt8]) throws {
    try check(try JSONReader.read(input))
  }

  /// Every value of it as each type that takes it: what was read is written as something that reads back the
  /// same.
  private static func check(_ json: JSONValue) throws {
    for type in FieldType.allCases {
      guard let value = type.value(json: json) else { continue }
      let written = Array(value.json.text.utf8)
      guard let again = type.value(json: try JSONReader.read(written)) else {
        fatalError("a \(type.name) value that was written does not read back")
      }
      expect(Array(again.json.text.utf8) == written, "a \(type.name) value is not what it was")
      _ = value.description
    }
    switch json {
    case .array(let values): for value in values { try check(value) }
    case .object(let members): for member in members { try check(member.value) }
    case .string(let text): _ = RecordID(text)
    default: break
    }
  }
}
