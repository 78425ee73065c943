// Derived keys that are kept for salts that come again: decision 0054.

import Testing

@testable import NotelogCrypto

@Suite struct OpeningKeysTests {
  /// A salt whose set is the first, and which is told from others by its number.
  private static func salt(_ number: UInt64) -> UInt64 { number << 40 }

  @Test func `a salt gets a context of its own when it comes a second time, and its key is kept`() throws {
    let table = try Table()
    #expect(try table.open(Self.salt(1)) == .init(isOwn: false, wasKeyed: false))
    #expect(try table.open(Self.salt(1)) == .init(isOwn: false, wasKeyed: true), "it was the last one")
    #expect(try table.open(Self.salt(2)) == .init(isOwn: false, wasKeyed: false))
    #expect(try table.open(Self.salt(1)) == .init(isOwn: true, wasKeyed: false))
    #expect(try table.open(Self.salt(2)) == .init(isOwn: false, wasKeyed: true), "nobody else came for it")
    #expect(try table.open(Self.salt(3)) == .init(isOwn: false, wasKeyed: false))
    #expect(try table.open(Self.salt(2)) == .init(isOwn: true, wasKeyed: false))
    for _ in 0..<3 {
      for number: UInt64 in [1, 2] {
        #expect(try table.open(Self.salt(number)) == .init(isOwn: true, wasKeyed: true))
      }
    }
  }

  @Test func `where no keys are kept, all salts share one context`() throws {
    let table = try Table(keepsKeys: false)
    for number: UInt64 in [1, 2, 1, 2, 1] {
      #expect(try table.open(Self.salt(number)) == .init(isOwn: false, wasKeyed: false))
    }
    #expect(try table.open(Self.salt(1)) == .init(isOwn: false, wasKeyed: true))
    #expect(table.contextCount == 1)
  }

  @Test func `salts that differ in any bit have keys of their own`() throws {
    let table = try Table()
    for bit in 0..<96 {
      let (low, high): (UInt64, UInt32) = bit < 64 ? (1 << bit, 0) : (0, 1 << (bit - 64))
      for _ in 0..<3 {
        #expect(try table.open(0).isOpened)
        #expect(try table.open(low, high).isOpened)
      }
    }
  }

  @Test func `what is refused leaves the context without a key`() throws {
    let table = try Table()
    for number: UInt64 in [1, 2, 1] { _ = try table.open(Self.salt(number)) }
    #expect(try table.open(Self.salt(1)) == .init(isOwn: true, wasKeyed: true))
    #expect(try !table.open(Self.salt(1), isForged: true).isOpened)
    #expect(try table.open(Self.salt(1)) == .init(isOwn: true, wasKeyed: false))
    // The one that all others share, too.
    _ = try table.open(Self.salt(3))
    #expect(try !table.open(Self.salt(3), isForged: true).isOpened)
    #expect(try !table.open(Self.salt(3)).wasKeyed)
  }

  @Test func `salts that come once take no context, and keys that are asked for stay`() throws {
    let table = try Table()
    let kept = (1...4).map { Self.salt($0) }
    try table.keep(kept)
    for number: UInt64 in 100..<1_100 {
      let other = try table.open(Self.salt(number))
      #expect(other == .init(isOwn: false, wasKeyed: false))
      for salt in kept { #expect(try table.open(salt) == .init(isOwn: true, wasKeyed: true)) }
    }
    #expect(table.contextCount == kept.count + 1)
  }

  @Test func `keys that nobody asks for make room in a full set`() throws {
    let table = try Table()
    try table.keep((1...4).map { Self.salt($0) })
    // Another salt is turned away until their patience is used up; then it is remembered, and has a place.
    var openings = 0
    while try !table.open(Self.salt(9)).isOwn {
      openings += 1
      try #require(openings < 20)
      try table.useCommon()
    }
    #expect(openings == 4)
    #expect(try table.open(Self.salt(9)).wasKeyed)
    #expect(table.contextCount == 4 + 1)
  }

  @Test func `there are never more than so many contexts`() throws {
    let table = try Table()
    let salts = (1...4).flatMap { number in (0..<64).map { set in Self.salt(number) | set << 2 } }
    for round: UInt64 in 1...4 {
      for salt in salts { #expect(try table.open(salt).isOpened) }
      // One that nobody else has, so that the last one isn't found in the context that all share.
      _ = try table.open(1 << 63 | round << 50 | round << 2)
    }
    #expect(table.contextCount == OpeningKeys.countMax + 1)
    for number: UInt64 in 0..<4_000 {
      for salt in [number, number + 1, number] {
        #expect(try table.open(salt &* 0x9E37_79B9_7F4A_7C15).isOpened)
      }
    }
    #expect(table.contextCount == OpeningKeys.countMax + 1)
  }
}

/// Keys under which messages are opened that were sealed for the purpose, each salt with a key of its own.
@safe
private final class Table {
  struct Opening: Equatable {
    /// Whether the salt had a context of its own.
    var isOwn: Bool
    /// Whether it had its key before.
    var wasKeyed: Bool
    var isOpened = true
  }

  private let tag: UnsafeMutableRawPointer
  private let mode: GaloisCounterMode
  private let sealing: CipherContext
  private let keys: OpeningKeys
  private var passing: UInt64 = 0

  var contextCount: Int { keys.contextCount }

  init(keepsKeys: Bool = true) throws {
    // SAFETY: freed in deinit, when nobody uses what points to it.
    let tag = UnsafeMutableRawPointer.allocate(byteCount: 16, alignment: 8)
    unsafe self.tag = unsafe tag
    mode = unsafe GaloisCounterMode(tag: tag)
    sealing = try mode.makeContext()
    keys = try unsafe OpeningKeys(GaloisCounterMode(tag: tag), keepsKeys: keepsKeys)
  }

  deinit { unsafe tag.deallocate() }

  /// Gives salts contexts of their own.
  func keep(_ salts: [UInt64]) throws {
    for _ in 0..<2 {
      for salt in salts { _ = try open(salt) }
      try useCommon()
    }
  }

  /// Opens something under a salt of the second set that never came before, in the context that others share.
  func useCommon() throws {
    passing += 1
    try #require(try !open(4 | passing << 40).isOwn)
  }

  func open(_ low: UInt64, _ high: UInt32 = 0, isForged: Bool = false) throws -> Opening {
    let place = keys.place(of: [low, UInt64(high), 0])
    let wasKeyed = keys.isKeyed(at: place)
    var key = [UInt8](repeating: 1, count: 32)
    for index in 0..<8 { key[index] = UInt8(truncatingIfNeeded: low >> (8 * index)) }
    for index in 0..<4 { key[8 + index] = UInt8(truncatingIfNeeded: high >> (8 * index)) }
    let vector = [UInt8](repeating: 7, count: 12)
    var message: [UInt8] = [1, 2, 3]
    let isOpened = unsafe message.withUnsafeMutableBytes { message in
      guard let start = message.baseAddress else { return false }
      let text = UnsafeRawBufferPointer(message)
      let none = unsafe UnsafeRawBufferPointer(start: nil, count: 0)
      // SAFETY: in place, which GCM may; key and vector have their sizes.
      guard
        unsafe mode.seal(
          in: sealing, key: key, initialisationVector: vector, additionalData: none, text, to: start)
      else { return false }
      if isForged { unsafe tag.storeBytes(of: ~tag.load(as: UInt8.self), as: UInt8.self) }
      return unsafe wasKeyed
        ? keys.open(
          at: place, key: nil, initialisationVector: vector, additionalData: none, text, to: start)
        : keys.open(
          at: place, key: key, initialisationVector: vector, additionalData: none, text, to: start)
    }
    return Opening(isOwn: place != OpeningKeys.common, wasKeyed: wasKeyed, isOpened: isOpened)
  }
}
