// The derived-key cache: decision 0054.

import Testing

@testable import NotelogCrypto

@Suite struct DerivedKeyCacheTests {
  /// A salt whose set is the first, and which is told from others by its number.
  private static func salt(_ number: UInt64) -> UInt64 { number << 40 }

  @Test func `salts that come again get entries of their own, and their keys are kept`() throws {
    let cache = try Cache()
    for _ in 0..<40 {
      for number: UInt64 in 1...4 { _ = try cache.open(Self.salt(number)) }
    }
    for _ in 0..<3 {
      for number: UInt64 in 1...4 { #expect(try cache.open(Self.salt(number)).wasKeyed) }
    }
    #expect(cache.contextCount > 1)
  }

  @Test func `salts that differ in any bit have keys of their own`() throws {
    let cache = try Cache()
    for bit in 0..<96 {
      let (low, high): (UInt64, UInt32) = bit < 64 ? (1 << bit, 0) : (0, 1 << (bit - 64))
      for _ in 0..<10 {
        #expect(try cache.open(0).isOpened)
        #expect(try cache.open(low, high).isOpened)
      }
    }
  }

  @Test func `what is refused leaves the entry without a key`() throws {
    let cache = try Cache()
    for number: UInt64 in 1...8 { _ = try cache.open(Self.salt(number)) }
    #expect(try cache.open(Self.salt(8)) == .init(isOwn: true, wasKeyed: true))
    #expect(try !cache.open(Self.salt(8), isForged: true).isOpened)
    #expect(try !cache.open(Self.salt(8)).wasKeyed)
    // The shared one, too.
    _ = try cache.open(Self.salt(9))
    #expect(try cache.open(Self.salt(9)) == .init(isOwn: false, wasKeyed: true))
    #expect(try !cache.open(Self.salt(9), isForged: true).isOpened)
    #expect(try !cache.open(Self.salt(9)).wasKeyed)
  }

  @Test func `one miss in eight takes an entry, and there are never more than so many contexts`() throws {
    let cache = try Cache()
    var owned = 0
    for number: UInt64 in 1...4_000 {
      let opening = try cache.open((number &* 0x9E37_79B9_7F4A_7C15) >> 20)
      #expect(opening.isOpened && !opening.wasKeyed)
      if opening.isOwn { owned += 1 }
    }
    #expect(owned == 500)
    #expect(cache.contextCount > 150 && cache.contextCount <= DerivedKeyCache.capacity + 1)
  }
}

/// Keys under which messages are opened that were sealed for the purpose, each salt with a key of its own.
@safe
private final class Cache {
  struct Opening: Equatable {
    /// Whether the salt had an entry of its own.
    var isOwn: Bool
    /// Whether it had its key before.
    var wasKeyed: Bool
    var isOpened = true
  }

  private let tag: UnsafeMutableRawPointer
  private let library: OpenSSL
  private let sealing: CipherContext
  private let keys: DerivedKeyCache

  var contextCount: Int { keys.contextCount }

  init() throws {
    // SAFETY: freed in deinit, when nobody uses what points to it.
    let tag = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 8)
    unsafe self.tag = unsafe tag
    library = try unsafe OpenSSL(key: [UInt8](repeating: 0, count: 32), tag: tag)
    sealing = try library.makeContext()
    keys = DerivedKeyCache(shared: try library.makeContext())
  }

  deinit { unsafe tag.deallocate() }

  func open(_ low: UInt64, _ high: UInt32 = 0, isForged: Bool = false) throws -> Opening {
    let salt = DerivedKeyCache.Salt([low, UInt64(high), 0])
    let index = keys.index(of: salt, library)
    let wasKeyed = keys.isKeyed(salt, at: index)
    var key = [UInt8](repeating: 1, count: 32)
    for place in 0..<8 { key[place] = UInt8(truncatingIfNeeded: low >> (8 * place)) }
    for place in 0..<4 { key[8 + place] = UInt8(truncatingIfNeeded: high >> (8 * place)) }
    let vector = [UInt8](repeating: 7, count: 12)
    var message: [UInt8] = [1, 2, 3]
    let isOpened = unsafe message.withUnsafeMutableBytes { message in
      guard let start = message.baseAddress else { return false }
      let text = UnsafeRawBufferPointer(message)
      let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
      // SAFETY: in place, which GCM may; key and vector have their sizes.
      guard
        unsafe library.seal(
          in: sealing, key: key, initialisationVector: vector, additionalData: none, text, to: start)
      else { return false }
      if isForged { unsafe tag.storeBytes(of: ~tag.load(as: UInt8.self), as: UInt8.self) }
      return unsafe wasKeyed
        ? keys.open(
          at: index, salt, library, key: nil, initialisationVector: vector, additionalData: none, text,
          to: start)
        : keys.open(
          at: index, salt, library, key: key, initialisationVector: vector, additionalData: none, text,
          to: start)
    }
    return Opening(isOwn: index != 0, wasKeyed: wasKeyed, isOpened: isOpened)
  }
}
