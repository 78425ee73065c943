// The fields of a collection by the names that a command line has.

import Notelog

extension DynamicCollection {
  /// The fields in use: retired ones are left out.
  var fieldsInUse: [FieldInfo] { fields.filter { !$0.isRetired } }

  /// The fields in use by their names.
  var fieldsInUseByName: [String: FieldInfo] {
    Dictionary(fieldsInUse.map { ($0.name, $0) }) { first, _ in first }
  }

  /// The field in use of a name.
  func field(_ name: String) throws(ToolError) -> FieldInfo {
    if let field = fieldsInUse.first(where: { $0.name == name }) { return field }
    let names = fieldsInUse.map(\.name)
    let near = Suggestion.nearest(to: name, among: names).map { "did you mean '\($0)'?" }
    throw ToolError(
      .failed, "'\(self.name)' has no field '\(name)'",
      hint: near ?? (names.isEmpty ? "it has none" : "its fields are: \(names.joined(separator: ", "))"))
  }

  /// The values of assignments, each of its field's type.
  func values(_ assignments: [Assignment]) throws(ToolError) -> [String: DynamicValue] {
    let known = fieldsInUseByName
    var values: [String: DynamicValue] = [:]
    for assignment in assignments {
      let info = if let found = known[assignment.name] { found } else { try field(assignment.name) }
      values[assignment.name] = try assignment.value(as: info.type)
    }
    return values
  }

  /// What a list shows unless told otherwise: the plain fields and the first sealed text.
  var fieldsToList: [String] {
    let title = fieldsInUse.first { $0.isSealed && $0.type == .text }?.name
    return fieldsInUse.filter { !$0.isSealed || $0.name == title }.map(\.name)
  }
}

extension FieldInfo {
  /// Whether a record is not complete without it. A text that is not given is an empty one.
  var needsValue: Bool { !isOptional && !isRetired && type != .text }
}
