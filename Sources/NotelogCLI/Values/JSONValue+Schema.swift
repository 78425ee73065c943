// The schema of `init --schema FILE`: JSON that names collections and their fields.
import Notelog

extension JSONValue {
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
  func schemaCollections() throws -> [(name: String, fields: [FieldDescription])] {
    guard case .object(let members) = self, members.map(\.name) == ["collections"],
      case .array(let rows)? = self["collections"]
    else {
      throw ToolError(.failed, #"a schema is an object with one member, "collections", that lists some"#)
    }
    guard !rows.isEmpty else {
      throw ToolError(.failed, "the schema lists no collection", hint: "--empty makes a store without any")
    }
    var names: Set<String> = []
    return try rows.enumerated().map { index, row in
      let place = "collection \(index + 1)"
      try row.check(has: ["name", "fields"], place)
      guard let name = row["name"]?.string, case .array(let fields)? = row["fields"] else {
        throw ToolError(.failed, "\(place) needs a name and a list of fields")
      }
      guard names.insert(name).inserted else {
        throw ToolError(.failed, "the collection '\(name)' is there twice")
      }
      var fieldNames: Set<String> = []
      return (
        name,
        try fields.enumerated().map { index, field in
          let description = try field.fieldDescription("field \(index + 1) of '\(name)'")
          guard fieldNames.insert(description.name).inserted else {
            throw ToolError(.failed, "the field '\(description.name)' of '\(name)' is there twice")
          }
          return description
        }
      )
    }
  }

  private func fieldDescription(_ place: String) throws -> FieldDescription {
    let sealedFlags = ["padded", "compressed", "revealsEquality", "ignoresCase"]
    let flags = ["indexed", "sealed", "optional"] + sealedFlags
    try check(has: Set(flags + ["name", "type", "key", "keyFrom", "keys"]), place)
    guard let name = self["name"]?.string, let typeName = self["type"]?.string else {
      throw ToolError(.failed, "\(place) needs a name and a type")
    }
    let type = try FieldType(named: typeName, of: place)
    let set = Set(try flags.filter { try flag($0, place) })
    let (isIndexed, isOptional) = (set.contains("indexed"), set.contains("optional"))
    let key = self["key"]?.string
    if key == nil, self["key"] != nil {
      throw ToolError(.failed, #""key" of \#(place) is no key's name"#)
    }
    let choice = try keyChoice(place)
    guard set.contains("sealed") else {
      if key != nil || choice != nil || !set.isDisjoint(with: sealedFlags) {
        throw ToolError(
          .failed, "\(place) is not sealed, and so has no key, padding, compression or equality to reveal")
      }
      return .plain(name, type, indexed: isIndexed, optional: isOptional)
    }
    if isIndexed { throw ToolError(.failed, "\(place) is sealed, and so cannot be indexed") }
    if key != nil, choice != nil {
      throw ToolError(.failed, "\(place) has a key, and a field that names one")
    }
    return .sealed(
      name, type, key: key ?? defaultKeyName, keyFrom: choice?.field, among: choice?.keys ?? [],
      compressed: set.contains("compressed"), padded: set.contains("padded"), optional: isOptional,
      revealingEquality: set.contains("revealsEquality"), ignoringCase: set.contains("ignoresCase"))
  }

  /// The field that names the key of each record's value, and the keys that it may name.
  private func keyChoice(_ place: String) throws -> (field: String, keys: [String])? {
    if self["keyFrom"] == nil, self["keys"] == nil { return nil }
    guard let field = self["keyFrom"]?.string, case .array(let names)? = self["keys"] else {
      throw ToolError(
        .failed, #"\#(place) needs both "keyFrom", a field's name, and "keys", a list of names"#)
    }
    let keys = names.compactMap(\.string)
    if keys.count == names.count { return (field, keys) }
    throw ToolError(.failed, #""keys" of \#(place) lists what is no name"#)
  }

  private func flag(_ name: String, _ place: String) throws -> Bool {
    switch self[name] {
    case nil: return false
    case .boolean(let value)?: return value
    default: throw ToolError(.failed, "'\(name)' of \(place) is neither true nor false")
    }
  }

  private func check(has known: Set<String>, _ place: String) throws {
    guard case .object(let members) = self else { throw ToolError(.failed, "\(place) is not an object") }
    for member in members where !known.contains(member.name) {
      throw ToolError(
        .failed, "\(place) has an unknown member '\(member.name)'",
        hint: known.sorted().hint(for: member.name))
    }
  }
}

extension FieldType {
  /// The type of a name.
  init(named name: String, of place: String) throws {
    guard let type = Self.allCases.first(where: { $0.name == name }) else {
      let types = Self.allCases.map(\.name)
      throw ToolError(
        .failed, "\(place) has the type '\(name)'",
        hint: types.hint(for: name) ?? "the types are \(types.joined(separator: ", "))")
    }
    self = type
  }
}
