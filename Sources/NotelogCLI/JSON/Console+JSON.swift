// Printing JSON, or text instead.

extension Console {
  /// Prints JSON on a line of its own.
  func print(_ json: JSONValue) throws(ToolError) {
    try out.write(bytes: json.text + [UInt8(ascii: "\n")])
  }
}

extension Invocation {
  /// Prints a result the way it was asked for: as JSON, or as text.
  func print(
    _ text: @autoclosure () -> String, or json: @autoclosure () -> JSONValue, on console: Console
  ) throws(ToolError) {
    if has(.json) { try console.print(json()) } else { try console.out.write(text()) }
  }
}
