// Lines of a file or of standard input, none longer than memory should hold.

/// Reads lines piece by piece.
struct LineReader {
  /// The most bytes a line may have: enough for a record of 16 MiB, escapes and all.
  static let bytesMax = 64 << 20
  /// The most bytes of a pipe that are held.
  private static let heldBytesMax = 256 << 20

  private let file: Input
  private var bytes: [UInt8] = []
  private var start = 0
  private var isAtEnd = false
  /// The number of the line read last, from 1.
  private(set) var lineNumber = 0
  private var readByteCount = 0

  /// Opens a file; `-` is standard input.
  init(path: String) throws {
    self.init(path == "-" ? Input() : try Input(path: path))
  }

  /// Reads what is open already.
  init(_ file: Input) { self.file = file }

  /// The next line, without its end; `nil` after the last.
  mutating func next() throws -> [UInt8]? {
    if let end = try nextEnd() {
      defer { start = end + 1 }
      return try line(to: end)
    }
    defer { start = bytes.count }
    return start < bytes.count ? try line(to: bytes.count) : nil
  }

  /// The next line, which stays the next.
  mutating func peek() throws -> ArraySlice<UInt8> {
    let end = try nextEnd()
    return bytes[start..<(end ?? bytes.count)]
  }

  /// Where the next line ends; nil where the file does, or the line is too long.
  private mutating func nextEnd() throws -> Int? {
    var searched = start
    while true {
      if let end = bytes[searched...].firstIndex(of: UInt8(ascii: "\n")) { return end }
      if isAtEnd || bytes.count - start > Self.bytesMax { return nil }
      bytes.removeSubrange(..<start)
      start = 0
      searched = bytes.count
      let piece = try file.read(upTo: 1 << 20)
      isAtEnd = piece.isEmpty
      bytes += piece
      readByteCount += piece.count
    }
  }

  /// What reads all of it, as often as it is asked for, where only a line was looked at: the file at the path,
  /// or what a pipe gives, which is held in memory.
  mutating func reopening(_ path: String) throws -> () throws -> LineReader {
    if !isPipe(path) { return { try LineReader(path: path) } }
    bytes += try file.readAll(
      upTo: Self.heldBytesMax - bytes.count,
      orThrow: ToolError(
        .failed, "more than \(Self.heldBytesMax >> 20) MiB come from a pipe",
        hint: "it is read more than once: write it to a file first"))
    isAtEnd = true
    let held = self
    return { held }
  }

  /// Whether what comes from a path comes once only.
  func isPipe(_ path: String) -> Bool { path == "-" || file.byteCount == nil }

  private mutating func line(to end: Int) throws -> [UInt8] {
    lineNumber += 1
    guard end - start <= Self.bytesMax else {
      throw ToolError(.failed, "the line is longer than \(Self.bytesMax >> 20) MiB")
    }
    return Array(bytes[start..<end])
  }

  /// Shows how much of the file or pipe was taken in.
  func tell(_ progress: Progress) {
    progress.update(readByteCount - (bytes.count - start), of: file.byteCount ?? 0)
  }
}
