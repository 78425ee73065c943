// Secret bytes: a key, a password, a buffer of nonces to come.

import NotelogBase

/// Bytes that nobody else may see, in memory of their own (``SecretMemory``), cleansed when it ends.
///
/// It cannot be copied, compared with `==`, or printed.
package struct Secret: ~Copyable, Sendable {
  package let byteCount: Int
  private let memory: SecretMemory
  private let address: UInt

  /// Zeros, to be filled in.
  package init(byteCount: Int, in memory: SecretMemory = .shared) throws(CryptoError) {
    precondition(byteCount >= 0)
    self.byteCount = byteCount
    self.memory = memory
    // SAFETY: kept as a number, and given back once, in deinit.
    address = UInt(bitPattern: unsafe try memory.allocate(byteCount: max(1, byteCount)))
  }

  /// A copy of bytes; cleansing the original is the caller's business.
  package init(copying bytes: RawSpan, in memory: SecretMemory = .shared) throws(CryptoError) {
    try self.init(byteCount: bytes.byteCount, in: memory)
    var target = mutableBytes
    target.copy(bytes, at: 0)
  }

  /// Two secrets, one behind the other.
  package init(joining one: borrowing Secret, _ other: borrowing Secret) throws(CryptoError) {
    try self.init(byteCount: one.byteCount + other.byteCount)
    var target = mutableBytes
    target.copy(one.bytes, at: 0)
    target.copy(other.bytes, at: one.byteCount)
  }

  /// The UTF-8 bytes of a text. The text itself stays where Swift keeps it, beyond our reach.
  package init(utf8 text: String) throws(CryptoError) {
    // SAFETY: the bytes of a text are initialised throughout.
    try unsafe self.init(copying: text.utf8Span.span.bytes)
  }

  /// Bytes from the system's generator.
  package static func random(byteCount: Int) throws(CryptoError) -> Secret {
    let secret = try Secret(byteCount: byteCount)
    // SAFETY: the memory is new and holds `byteCount` bytes.
    guard unsafe Platform.systemRandom(secret.pointer, byteCount: byteCount) else { throw .noRandomness }
    return secret
  }

  /// Random bytes that are no secret: salts, nonces of wraps.
  static func randomBytes(_ count: Int) throws(CryptoError) -> [UInt8] {
    try random(byteCount: count).array(0..<count)
  }

  deinit {
    // SAFETY: the only owner ends; nobody can hold a pointer any more.
    unsafe memory.release(pointer, byteCount: max(1, byteCount))
  }

  /// The secret bytes, to read.
  package var bytes: RawSpan {
    @_lifetime(borrow self) borrowing get {
      // SAFETY: the memory lives as long as this value, which the span borrows.
      let span = unsafe RawSpan(_unsafeStart: pointer, byteCount: byteCount)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// The secret bytes, to write.
  package var mutableBytes: MutableRawSpan {
    @_lifetime(&self) mutating get {
      // SAFETY: the memory lives as long as this value, which the span borrows exclusively.
      let span = unsafe MutableRawSpan(_unsafeStart: pointer, byteCount: byteCount)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Overwrites its first bytes.
  package mutating func fill(_ bytes: [UInt8]) {
    var target = mutableBytes
    target.copy(bytes.rawSpan, at: 0)
  }

  /// A part of it in ordinary memory: for what turned out to be no key, such as a key's name.
  borrowing func array(_ range: Range<Int>) -> [UInt8] { range.map { bytes.byte(at: $0) } }

  /// Another copy, of all of it or a part, as a value of its own.
  package borrowing func copy(_ range: Range<Int>? = nil) throws(CryptoError) -> Secret {
    try Secret(copying: bytes.extracting(range ?? 0..<byteCount), in: memory)
  }

  /// Lends the bytes to a closure.
  package borrowing func withBytes<Result>(_ body: (RawSpan) throws -> Result) rethrows -> Result {
    try body(bytes)
  }

  // SAFETY: for this file and the primitives; whoever takes it keeps the secret alive meanwhile.
  /// Where the bytes are. Valid while the secret lives.
  @unsafe var pointer: UnsafeMutableRawPointer {
    // SAFETY: the address came from a pointer that was not nil.
    unsafe UnsafeMutableRawPointer(bitPattern: address).unsafelyUnwrapped
  }
}
