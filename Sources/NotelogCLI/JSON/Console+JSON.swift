// Printing JSON, or text instead.

extension Console {
  /// Prints JSON on a line of its own.
  static func print(_ json: JSONValue) throws {
    try out.write(bytes: json.text + [UInt8(ascii: "\n")])
  }
}

extension Invocation {
  /// Prints a result the way it was asked for: as JSON, or as text.
  func print(
    _ text: @autoclosure () -> String, or json: @autoclosure () -> JSONValue
  ) throws {
    if has(.json) { try Console.print(json()) } else { try Console.out.write(text()) }
  }
}

extension JSONReader {
  /// Reads one value; what is wrong is said behind `errorPrefix`.
  static func read(_ bytes: [UInt8], errorPrefix: String) throws -> JSONValue {
    do { return try read(bytes) } catch {
      throw ToolError(.failed, "\(errorPrefix)\(error.message) (at byte \(error.offset))")
    }
  }
}
