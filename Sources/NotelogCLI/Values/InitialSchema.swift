// The schema of `init --schema FILE`: JSON that names collections and their fields.
import Foundation
import Notelog

/// The collections that a new store begins with.
///
/// ```json
/// {"collections": [{"name": "note", "fields": [
///   {"name": "time", "type": "date", "indexed": true},
///   {"name": "title", "type": "text", "sealed": true},
///   {"name": "photo", "type": "bytes", "sealed": true, "key": "pictures", "optional": true}
/// ]}]}
/// ```
///
/// In the place of a `key`, a sealed field may have `"keyFrom": "protection", "keys": ["home", "work"]`: each
/// record names one of these keys in the field `protection`, which is plain text.
enum InitialSchema {
  typealias Collection = (name: String, fields: [FieldDescription])

  /// What a store is made with when no schema is given.
  static let standard: [Collection] = [
    ("note", [.plain("time", .date, indexed: true), .sealed("title", .text), .sealed("body", .text)])
  ]

  /// The most bytes that a schema's file may have.
  private static let bytesMax = 1 << 20

  static func read(_ path: String) throws -> [Collection] {
    let bytes = try Input(path: path, what: "schema").readAll(upTo: bytesMax)
    guard bytes.count <= bytesMax else { throw ToolError(.failed, "the schema '\(path)' is too large") }
    return try collections(try JSONReader.read(bytes, errorPrefix: "the schema '\(path)' is not JSON: "))
  }

  /// Understands the document.
  static func collections(_ json: JSONValue) throws -> [Collection] {
    guard case .object(let members) = json, members.map(\.name) == ["collections"],
      case .array(let rows)? = json["collections"]
    else {
      throw ToolError(.failed, #"a schema is an object with one member, "collections", that lists some"#)
    }
    guard !rows.isEmpty else {
      throw ToolError(.failed, "the schema lists no collection", hint: "--empty makes a store without any")
    }
    var names: Set<String> = []
    return try rows.enumerated().map { index, row in
      let place = "collection \(index + 1)"
      try check(row, has: ["name", "fields"], place)
      guard case .string(let name)? = row["name"], case .array(let fields)? = row["fields"] else {
        throw ToolError(.failed, "\(place) needs a name and a list of fields")
      }
      guard names.insert(name).inserted else {
        throw ToolError(.failed, "the collection '\(name)' is there twice")
      }
      var fieldNames: Set<String> = []
      return (
        name,
        try fields.enumerated().map { index, field in
          let description = try description(of: field, "field \(index + 1) of '\(name)'")
          guard fieldNames.insert(description.name).inserted else {
            throw ToolError(.failed, "the field '\(description.name)' of '\(name)' is there twice")
          }
          return description
        }
      )
    }
  }

  private static func description(of json: JSONValue, _ place: String) throws -> FieldDescription {
    let known: Set<String> = [
      "name", "type", "indexed", "sealed", "key", "keyFrom", "keys", "padded", "compressed", "optional",
    ]
    try check(json, has: known, place)
    guard case .string(let name)? = json["name"], case .string(let typeName)? = json["type"] else {
      throw ToolError(.failed, "\(place) needs a name and a type")
    }
    guard let type = FieldType.allCases.first(where: { $0.name == typeName }) else {
      let types = FieldType.allCases.map(\.name)
      throw ToolError(
        .failed, "\(place) has the type '\(typeName)'",
        hint: types.hint(for: typeName) ?? "the types are \(types.joined(separator: ", "))"
      )
    }
    let indexed = try flag("indexed", of: json, place)
    let padded = try flag("padded", of: json, place)
    let compressed = try flag("compressed", of: json, place)
    let optional = try flag("optional", of: json, place)
    var key: String?
    if case .string(let name)? = json["key"] { key = name }
    let choice = try keyChoice(of: json, place)
    guard try flag("sealed", of: json, place) else {
      if key != nil || choice != nil || padded || compressed {
        throw ToolError(.failed, "\(place) is not sealed, and so has no key, padding or compression")
      }
      return .plain(name, type, indexed: indexed, optional: optional)
    }
    if indexed { throw ToolError(.failed, "\(place) is sealed, and so cannot be indexed") }
    if let choice {
      if key != nil { throw ToolError(.failed, "\(place) has a key, and a field that names one") }
      return .sealed(
        name, type, keyFrom: choice.field, among: choice.keys, compressed: compressed, padded: padded,
        optional: optional)
    }
    return .sealed(
      name, type, key: key ?? defaultKeyName, compressed: compressed, padded: padded, optional: optional)
  }

  /// The field that names the key of each record's value, and the keys that it may name.
  private static func keyChoice(
    of json: JSONValue, _ place: String
  ) throws -> (field: String, keys: [String])? {
    if json["keyFrom"] == nil, json["keys"] == nil { return nil }
    guard case .string(let field)? = json["keyFrom"], case .array(let names)? = json["keys"] else {
      throw ToolError(
        .failed, #"\#(place) needs both "keyFrom", a field's name, and "keys", a list of names"#)
    }
    let keys = try names.map { name in
      guard case .string(let name) = name else {
        throw ToolError(.failed, #""keys" of \#(place) lists what is no name"#)
      }
      return name
    }
    return (field, keys)
  }

  private static func flag(_ name: String, of json: JSONValue, _ place: String) throws -> Bool {
    switch json[name] {
    case nil: return false
    case .boolean(let value)?: return value
    default: throw ToolError(.failed, "'\(name)' of \(place) is neither true nor false")
    }
  }

  private static func check(_ json: JSONValue, has known: Set<String>, _ place: String) throws {
    guard case .object(let members) = json else { throw ToolError(.failed, "\(place) is not an object") }
    for member in members where !known.contains(member.name) {
      throw ToolError(
        .failed, "\(place) has an unknown member '\(member.name)'",
        hint: known.sorted().hint(for: member.name))
    }
  }
}
