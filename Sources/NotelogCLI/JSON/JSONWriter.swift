// Writes JSON piece by piece, so that a document need not fit into memory.

/// A JSON document or line in the making.
///
/// It puts the commas and escapes the text; that what is opened is closed is its user's care.
struct JSONWriter: Sendable {
  /// What was written and not yet taken.
  private(set) var bytes: [UInt8] = []
  /// Whether the next element needs a comma before it.
  private var needsComma = false

  init() {}

  /// What was written so far; the writer goes on after it.
  mutating func take() -> [UInt8] {
    defer { bytes.removeAll(keepingCapacity: true) }
    return bytes
  }

  mutating func object(_ body: (inout JSONWriter) throws(ToolError) -> Void) throws(ToolError) {
    try enclosed("{", "}", body)
  }

  mutating func array(_ body: (inout JSONWriter) throws(ToolError) -> Void) throws(ToolError) {
    try enclosed("[", "]", body)
  }

  /// The name of the value that follows.
  mutating func key(_ name: String) {
    string(name)
    bytes.append(UInt8(ascii: ":"))
    needsComma = false
  }

  mutating func string(_ text: String) {
    element {
      $0.append(UInt8(ascii: "\""))
      for byte in text.utf8 { Self.append(byte, to: &$0) }
      $0.append(UInt8(ascii: "\""))
    }
  }

  mutating func number(_ value: some BinaryInteger) { literal(String(value)) }

  /// A finite number, in the fewest digits that read back the same; JSON has no others.
  mutating func number(_ value: Double) {
    precondition(value.isFinite, "JSON has finite numbers only")
    literal(value.description)
  }

  mutating func boolean(_ value: Bool) { literal(value ? "true" : "false") }

  mutating func null() { literal("null") }

  /// Ends a line, of a stream of objects for instance.
  mutating func endLine() {
    bytes.append(UInt8(ascii: "\n"))
    needsComma = false
  }

  // MARK: - Pieces

  private mutating func literal(_ text: String) { element { $0 += text.utf8 } }

  private mutating func element(_ write: (inout [UInt8]) -> Void) {
    if needsComma { bytes.append(UInt8(ascii: ",")) }
    write(&bytes)
    needsComma = true
  }

  private mutating func enclosed(
    _ open: Unicode.Scalar, _ close: Unicode.Scalar,
    _ body: (inout JSONWriter) throws(ToolError) -> Void
  ) throws(ToolError) {
    element { $0.append(UInt8(ascii: open)) }
    needsComma = false
    try body(&self)
    bytes.append(UInt8(ascii: close))
    needsComma = true
  }

  private static func append(_ byte: UInt8, to bytes: inout [UInt8]) {
    switch byte {
    case UInt8(ascii: "\""): bytes += [0x5C, byte]
    case UInt8(ascii: "\\"): bytes += [0x5C, byte]
    case UInt8(ascii: "\n"): bytes += [0x5C, UInt8(ascii: "n")]
    case UInt8(ascii: "\r"): bytes += [0x5C, UInt8(ascii: "r")]
    case UInt8(ascii: "\t"): bytes += [0x5C, UInt8(ascii: "t")]
    // DEL too, so that what is printed holds no control character of one byte.
    case 0..<0x20, 0x7F: bytes += "\\u00".utf8 + [hexDigit(byte >> 4), hexDigit(byte & 15)]
    default: bytes.append(byte)
    }
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "a") + value - 10
  }
}

extension JSONWriter {
  /// A name and its text, in one go.
  mutating func member(_ name: String, _ text: String) {
    key(name)
    string(text)
  }

  mutating func member(_ name: String, _ value: some BinaryInteger) {
    key(name)
    number(value)
  }

  /// A name and a list of texts.
  mutating func strings(_ name: String, _ texts: [String]) throws(ToolError) {
    key(name)
    try array { json throws(ToolError) in
      for text in texts { json.string(text) }
    }
  }

  mutating func member(_ name: String, _ value: Bool) {
    key(name)
    boolean(value)
  }
}
