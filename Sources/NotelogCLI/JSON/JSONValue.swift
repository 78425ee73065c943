// A JSON value that was read.

enum JSONValue: Equatable, Sendable {
  case null
  case boolean(Bool)
  /// The number as it was spelled: what it means is for the field's type to say.
  case number(String)
  case string(String)
  case array([JSONValue])
  /// Members in the order of the text; no name occurs twice.
  case object([Member])

  struct Member: Equatable, Sendable {
    var name: String
    var value: JSONValue

    init(name: String, value: JSONValue) {
      self.name = name
      self.value = value
    }
  }

  /// The member of that name, of an object.
  subscript(_ name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name == name }?.value
  }
}
