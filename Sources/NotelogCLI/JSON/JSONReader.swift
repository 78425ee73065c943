// Reads one JSON value out of bytes that may be hostile: every depth, count and escape is checked.

struct JSONReader {
  /// How deep arrays and objects may lie in one another.
  static let depthMax = 32
  /// How many members an object may have: as many as a record has fields, and some.
  static let membersMax = 8192

  private let bytes: [UInt8]
  private let errorPrefix: String
  private var offset = 0

  /// Reads `bytes`, which hold one value and nothing else but white space; what is wrong, and where, is said
  /// behind `errorPrefix`.
  static func read(_ bytes: [UInt8], errorPrefix: String = "") throws -> JSONValue {
    var reader = JSONReader(bytes: bytes, errorPrefix: errorPrefix)
    let value = try reader.value(depth: 0)
    reader.skipSpace()
    guard reader.peek == nil else { throw reader.failure("something follows the value") }
    return value
  }

  private var peek: UInt8? { offset < bytes.count ? bytes[offset] : nil }

  private func failure(_ message: String, at place: Int? = nil) -> ToolError {
    ToolError(.failed, "\(errorPrefix)\(message) (at byte \(place ?? offset))")
  }

  private mutating func skipSpace() {
    while let byte = peek, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { offset += 1 }
  }

  /// Steps over `character` if it comes next.
  private mutating func accept(_ character: Unicode.Scalar) -> Bool {
    guard peek == UInt8(ascii: character) else { return false }
    offset += 1
    return true
  }

  // MARK: - Values

  private mutating func value(depth: Int) throws -> JSONValue {
    guard depth <= Self.depthMax else { throw failure("nested deeper than \(Self.depthMax)") }
    skipSpace()
    guard let first = peek else { throw failure("the text ends too early") }
    switch first {
    case UInt8(ascii: "{"): return try object(depth: depth)
    case UInt8(ascii: "["): return try array(depth: depth)
    case UInt8(ascii: "\""): return .string(try string())
    case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number())
    default:
      for (word, value) in [("true", JSONValue.boolean(true)), ("false", .boolean(false)), ("null", .null)]
      where bytes[offset...].starts(with: word.utf8) {
        offset += word.utf8.count
        return value
      }
      throw failure("no value begins like this")
    }
  }

  private mutating func array(depth: Int) throws -> JSONValue {
    var values: [JSONValue] = []
    try elements(until: "]") { reader in values.append(try reader.value(depth: depth + 1)) }
    return .array(values)
  }

  private mutating func object(depth: Int) throws -> JSONValue {
    var members: [JSONValue.Member] = []
    var names: Set<String> = []
    try elements(until: "}") { reader in
      reader.skipSpace()
      guard reader.peek == UInt8(ascii: "\"") else { throw reader.failure("a name is missing") }
      let start = reader.offset
      let name = try reader.string()
      guard names.insert(name).inserted else { throw reader.failure("a name occurs twice", at: start) }
      guard names.count <= Self.membersMax else {
        throw reader.failure("more than \(Self.membersMax) members")
      }
      reader.skipSpace()
      guard reader.accept(":") else { throw reader.failure("a colon is missing") }
      members.append(JSONValue.Member(name: name, value: try reader.value(depth: depth + 1)))
    }
    return .object(members)
  }

  /// Reads what lies between two brackets, the first of which comes next, with commas between.
  private mutating func elements(
    until end: Unicode.Scalar, _ element: (inout JSONReader) throws -> Void
  ) throws {
    offset += 1
    skipSpace()
    if accept(end) { return }
    while true {
      try element(&self)
      skipSpace()
      if accept(end) { return }
      guard accept(",") else { throw failure("a comma or \(end) is missing") }
    }
  }

  // MARK: - Numbers

  private mutating func number() throws -> String {
    let start = offset
    _ = accept("-")
    if !accept("0") { try digits() }
    if accept(".") { try digits() }
    if accept("e") || accept("E") {
      if !accept("+") { _ = accept("-") }
      try digits()
    }
    return String(decoding: bytes[start..<offset], as: UTF8.self)
  }

  private mutating func digits() throws {
    let start = offset
    while let byte = peek, byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") { offset += 1 }
    guard offset > start else { throw failure("a digit is missing") }
  }

  // MARK: - Strings

  private mutating func string() throws -> String {
    let start = offset
    offset += 1
    var text: [UInt8] = []
    while let byte = peek {
      switch byte {
      case UInt8(ascii: "\""):
        offset += 1
        guard let string = String(validating: text, as: UTF8.self) else {
          throw failure("a string is not UTF-8", at: start)
        }
        return string
      case UInt8(ascii: "\\"): text += try escape()
      case 0..<0x20: throw failure("a control character must be escaped")
      default:
        text.append(byte)
        offset += 1
      }
    }
    throw failure("a string does not end")
  }

  /// What the letters behind a backslash stand for.
  private static let escapes = Dictionary(
    uniqueKeysWithValues: zip("\"\\/bfnrt".utf8, "\"\\/\u{8}\u{C}\n\r\t".utf8))

  private mutating func escape() throws -> [UInt8] {
    offset += 1
    guard let letter = peek else { throw failure("an escape does not end") }
    offset += 1
    if letter == UInt8(ascii: "u") { return try scalar() }
    guard let byte = Self.escapes[letter] else { throw failure("there is no such escape") }
    return [byte]
  }

  /// The four digits after `\u`, and the second half where they are the first of a surrogate pair.
  private mutating func scalar() throws -> [UInt8] {
    var halves = [try hex4()]
    if UTF16.isLeadSurrogate(halves[0]), accept("\\"), accept("u") { halves.append(try hex4()) }
    guard let text = String(validating: halves, as: UTF16.self) else {
      throw failure("half of a surrogate pair")
    }
    return Array(text.utf8)
  }

  private mutating func hex4() throws -> UInt16 {
    var code: UInt16 = 0
    for _ in 0..<4 {
      guard let byte = peek, let digit = Character(Unicode.Scalar(byte)).hexDigitValue, byte < 0x80 else {
        throw failure("four hexadecimal digits are missing")
      }
      code = code << 4 | UInt16(digit)
      offset += 1
    }
    return code
  }
}
