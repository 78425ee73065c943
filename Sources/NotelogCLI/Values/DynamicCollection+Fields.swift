// The fields of a collection by the names that a command line has.

import Notelog

extension DynamicCollection {
  /// Whether a field of that name is in use.
  func hasCurrent(_ name: String) -> Bool { fields.contains { $0.name == name && !$0.isRetired } }

  /// The field of a name, retired ones left out.
  func field(_ name: String) throws(ToolError) -> FieldInfo {
    let current = fields.filter { !$0.isRetired }
    if let field = current.first(where: { $0.name == name }) { return field }
    let near = Suggestion.nearest(to: name, among: current.map(\.name)).map { "did you mean '\($0)'?" }
    throw ToolError(
      .failed, "'\(self.name)' has no field '\(name)'",
      hint: near
        ?? (current.isEmpty
          ? "it has none" : "its fields are: \(current.map(\.name).joined(separator: ", "))"))
  }

  /// The values of assignments, each of its field's type.
  func values(_ assignments: [Assignment]) throws(ToolError) -> [String: DynamicValue] {
    let known = Dictionary(fields.lazy.filter { !$0.isRetired }.map { ($0.name, $0) }) { first, _ in first }
    var values: [String: DynamicValue] = [:]
    for assignment in assignments {
      let info = if let found = known[assignment.name] { found } else { try field(assignment.name) }
      values[assignment.name] = try assignment.value(as: info.type)
    }
    return values
  }

  /// What a list shows unless told otherwise: the plain fields and the first sealed text.
  var fieldsToList: [String] {
    let current = fields.filter { !$0.isRetired }
    let title = current.first { $0.isSealed && $0.type == .text }?.name
    return current.filter { !$0.isSealed || $0.name == title }.map(\.name)
  }
}

extension FieldInfo {
  /// Whether a record is not complete without it. A text that is not given is an empty one.
  var needsValue: Bool { !isOptional && !isRetired && type != .text }
}
