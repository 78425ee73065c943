// Secrets: their memory, what the system grants for it, and that nothing shows them.

import Testing

@testable import NotelogCrypto

@Suite struct SecretTests {
  @Test func `a secret holds what it was given, and so does its copy`() throws {
    let one = try secret([1, 2, 3])
    #expect(reveal(one) == [1, 2, 3])
    let copy = try one.copy()
    #expect(reveal(copy) == [1, 2, 3])
    let empty = try secret([])
    #expect(reveal(empty) == [])
  }

  @Test(arguments: [256, 257, 4096, 5000])
  func `memory is zeroed when it is taken again`(byteCount: Int) throws {
    let memory = SecretMemory()
    for _ in 0..<3 {
      let marked = try secret([UInt8](repeating: 0xAB, count: byteCount), in: memory)
      _ = marked.byteCount
      let fresh = try Secret(byteCount: byteCount, in: memory)
      #expect(reveal(fresh) == [UInt8](repeating: 0, count: byteCount))
    }
    for _ in 0..<3 {
      let fresh = try Secret(byteCount: byteCount, in: memory)
      #expect(reveal(fresh) == [UInt8](repeating: 0, count: byteCount))
    }
  }

  @Test func `a cell that comes back serves the next secret`() throws {
    let memory = SecretMemory()
    func address() throws -> UInt {
      let secret = try secret([UInt8](repeating: 0xAB, count: 200), in: memory)
      // SAFETY: only the number is used.
      return unsafe UInt(bitPattern: secret.pointer)
    }
    let first = try address()
    #expect(try address() == first)
  }

  @Test func `more secrets than a slab holds, of all sizes, keep apart`() throws {
    let memory = SecretMemory()
    final class Box {
      let secret: Secret
      let byte: UInt8
      init(_ index: Int, _ memory: SecretMemory) throws {
        byte = UInt8(truncatingIfNeeded: index)
        secret = try NotelogCryptoTests.secret([UInt8](repeating: byte, count: 1 + index % 300), in: memory)
      }
    }
    var boxes = try (0..<1_000).map { try Box($0, memory) }
    boxes = boxes.enumerated().filter { !$0.offset.isMultiple(of: 3) }.map(\.element)
    boxes += try (1_000..<1_500).map { try Box($0, memory) }
    for box in boxes { #expect(reveal(box.secret).allSatisfy { $0 == box.byte }) }
  }

  @Test func `where the system locks memory, secrets are locked, and nothing needs saying`() throws {
    let memory = SecretMemory()
    let secret = try Secret(byteCount: 32, in: memory)
    _ = secret.byteCount
    #expect(memory.isLocked == (memory.note == nil))
  }

  @Test func `where memory can't be locked, secrets work and a note says so`() throws {
    let memory = SecretMemory(isLocking: false)
    let key = try SealingKey(byte: 1, memory: memory)
    #expect(!memory.isLocked)
    let note = try #require(memory.note)
    #expect(note.contains("ulimit -l"))
    #expect(try key.open(key.seal([1, 2])) == [1, 2])
  }

  @Test func `a secret too large is refused`() {
    #expect(throws: CryptoError.limitExceeded(.secret)) {
      _ = try Secret(byteCount: SecretMemory.byteCountMax + 1)
    }
  }

  @Test func `an overrun is a crash, not a leak`() async {
    await #expect(processExitsWith: .failure) {
      let secret = try Secret(byteCount: 4096)
      // SAFETY: not safe at all: the read is to hit the inaccessible page behind the secret.
      let beyond = unsafe secret.pointer + 4096
      unsafe print(beyond.load(as: UInt8.self))
    }
  }
}
