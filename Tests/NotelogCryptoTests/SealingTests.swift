// Sealing and opening: what opens, what is refused, what is left behind (FORMAT.md 11).

import Testing

@testable import NotelogCrypto

@Suite struct SealingTests {
  static let message = Array("The quick brown fox jumps".utf8)
  static let additionalData = (0..<64).map { UInt8($0) }

  @Test(arguments: [0, 1, 15, 16, 17, 255, 4096, 65_536, 1_000_003])
  func `what is sealed opens again`(_ count: Int) throws {
    let key = try SealingKey(byte: 7)
    let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    let sealed = try key.seal(plaintext, additionalData: Self.additionalData)
    #expect(sealed.count == count + SealedValue.overhead)
    #expect(try key.open(sealed, additionalData: Self.additionalData) == plaintext)
  }

  /// INV-E1, INV-E2.
  @Test(arguments: [message, []]) func `every single bit matters, and a refused value leaves no plaintext`(
    _ message: [UInt8]
  ) throws {
    let key = try SealingKey(byte: 7)
    let sealed = try key.seal(message, additionalData: Self.additionalData)
    let wiped = [UInt8](repeating: 0, count: message.count)
    for bit in 0..<(8 * sealed.count) {
      var altered = sealed
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      let (error, output) = key.refusal(altered, additionalData: Self.additionalData)
      #expect(error == .tampered && output == wiped, "bit \(bit) of the sealed value")
    }
    for bit in 0..<(8 * Self.additionalData.count) {
      var altered = Self.additionalData
      altered[bit / 8] ^= 1 << UInt8(bit % 8)
      let (error, output) = key.refusal(sealed, additionalData: altered)
      #expect(error == .tampered && output == wiped, "bit \(bit) of the additional data")
    }
    for bit in 0..<256 {
      var bytes = [UInt8](repeating: 7, count: 32)
      bytes[bit / 8] ^= 1 << UInt8(bit % 8)
      let other = SealingKey(
        reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked, key: try secret(bytes))
      let (error, output) = other.refusal(sealed, additionalData: Self.additionalData)
      #expect(error == .tampered && output == wiped, "bit \(bit) of the key")
    }
    // A context that refused so often still opens what is right.
    #expect(try key.open(sealed, additionalData: Self.additionalData) == message)
  }

  @Test func `a value cut at any length is refused`() throws {
    let key = try SealingKey(byte: 7)
    let sealed = try key.seal(Self.message)
    for count in 0..<sealed.count {
      #expect(key.refusal(Array(sealed[..<count])).0 == .tampered)
    }
    #expect(key.refusal(sealed + [0]).0 == .tampered)
  }

  @Test func `lengths of additional data are no secret part of it`() throws {
    let key = try SealingKey(byte: 7)
    let sealed = try key.seal(Self.message, additionalData: [1, 2, 3])
    #expect(key.refusal(sealed, additionalData: [1, 2, 3, 0]).0 == .tampered)
    #expect(key.refusal(sealed, additionalData: [1, 2]).0 == .tampered)
    #expect(key.refusal(sealed, additionalData: []).0 == .tampered)
  }

  /// OpenSSL keeps a context's tag from one message to the next: a value must not open by the tag of the one
  /// before.
  @Test func `a value does not open by the tag of the value before it`() throws {
    let key = try SealingKey(byte: 7)
    let sealed = try key.seal(Self.message)
    #expect(try key.open(sealed) == Self.message)
    let withoutTag = Array(sealed.dropLast(16)) + [UInt8](repeating: 0, count: 16)
    #expect(key.refusal(withoutTag).0 == .tampered)
  }

  @Test func `limits are named, and checked before anything is done`() throws {
    let key = try SealingKey(byte: 7)
    #expect(throws: CryptoError.limitExceeded(.plaintext)) {
      try key.seal([UInt8](repeating: 0, count: SealedValue.plaintextMax + 1))
    }
    #expect(throws: CryptoError.limitExceeded(.additionalData)) {
      try key.seal([], additionalData: [UInt8](repeating: 0, count: SealedValue.additionalDataMax + 1))
    }
    #expect(
      key.refusal([UInt8](repeating: 0, count: SealedValue.plaintextMax + 1 + SealedValue.overhead)).0
        == .limitExceeded(.plaintext))
  }

  @Test func `an output of the wrong size is the caller's mistake`() async {
    await #expect(processExitsWith: .failure) { () throws in
      let key = try SealingKey(byte: 7)
      var output = [UInt8](repeating: 0, count: 40)
      var span = output.mutableSpan
      // SAFETY: arrays of bytes are initialised throughout.
      var target = unsafe span.mutableBytes
      let plaintext: [UInt8] = [1]
      var run = NonceRun()
      try unsafe key.seal(
        plaintext.span.bytes, additionalData: plaintext.span.bytes, nonces: &run, into: &target)
    }
  }

  @Test func `a wiped key says that it is locked`() throws {
    let key = try SealingKey(byte: 7, class: .afterFirstUnlock)
    let sealed = try key.seal(Self.message)
    key.wipe()
    #expect(throws: CryptoError.locked(.afterFirstUnlock)) { try key.seal(Self.message) }
    #expect(throws: CryptoError.locked(.afterFirstUnlock)) { try key.open(sealed) }
    key.wipe()
  }

  @Test func `many threads share a key, and more of them than it has lanes`() throws {
    let key = try SealingKey(byte: 7)
    let opened = onThreads(80) { thread in
      (0..<50).count { round in
        let plaintext = (0..<(thread + round)).map { UInt8(truncatingIfNeeded: $0 + thread) }
        let sealed = try? key.seal(plaintext, additionalData: [UInt8(thread)])
        return sealed.flatMap { try? key.open($0, additionalData: [UInt8(thread)]) } == plaintext
      }
    }
    #expect(opened == [Int](repeating: 50, count: 80))
  }

  @Test func `a key wiped while others use it ends their calls in order`() async throws {
    for _ in 0..<20 {
      let key = try SealingKey(byte: 7)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for task in 0..<4 {
          group.addTask {
            do {
              for _ in 0..<200 {
                let sealed = try key.seal([UInt8(task)])
                #expect(try key.open(sealed) == [UInt8(task)])
              }
            } catch CryptoError.locked(.whenUnlocked) {}
          }
        }
        group.addTask { key.wipe() }
        try await group.waitForAll()
      }
      #expect(throws: CryptoError.locked(.whenUnlocked)) { try key.seal([]) }
    }
  }
}
