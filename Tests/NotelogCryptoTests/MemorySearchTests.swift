// After lock and release no key is left in memory: a parent searches its child's /proc/PID/mem.

#if os(Linux)
  import NotelogBase
  import Testing

  @testable import NotelogCrypto

  @Suite(.serialized) struct MemorySearchTests {
    @Test func `a wiped key leaves no key, no derived key and no key schedule in memory`() throws {
      let child = try ChildProcess("key")
      let sealed = try child.linesUntilReady().filter { $0.word == "SEALED" }.map(\.bytes)
      let key = Self.pattern(seed: 1)
      // Kept in the cache's shared entry, in one of its own, and in the context that seals.
      let derived = try sealed.map { try Self.derivedKey(key, sealed: $0) }
      try #require(derived.count == 3)
      let patterns = [key] + derived + Self.schedule(key) + derived.flatMap(Self.schedule)
      let before = try child.occurrences(of: patterns)
      #expect(before[0] > 0, "the search must find the key while it is open, or it proves nothing")
      #expect(before[1...3].contains { $0 > 0 }, "nor did it find a derived key")
      #expect(before[4...].allSatisfy { $0 > 0 }, "nor every round key")
      try child.goOn()
      _ = try child.linesUntilReady()
      #expect(try child.occurrences(of: patterns).allSatisfy { $0 == 0 })
      try child.goOn()
      #expect(child.waitUntilExit() == 0)
    }

    @Test func `a released secret is gone from memory`() throws {
      let child = try ChildProcess("secret")
      _ = try child.linesUntilReady()
      let pattern = Array(Self.pattern(seed: 2, byteCount: 48))
      #expect(try child.occurrences(of: [pattern])[0] == 1)
      try child.goOn()
      _ = try child.linesUntilReady()
      #expect(try child.occurrences(of: [pattern])[0] == 0)
      try child.goOn()
      #expect(child.waitUntilExit() == 0)
    }

    @Test func `locking wipes by access class, the unlock root and the passwords with it`() throws {
      let child = try ChildProcess("vault")
      let lines = try child.linesUntilReady()
      let keyring = try Keyring(parsing: try #require(lines.first { $0.word == "KEYRING" }).bytes)
      let sealed = lines.filter { $0.word == "SEALED" }.map(\.bytes)
      try #require(sealed.count == 2)

      // The same keyring, unlocked here, says what to look for.
      let opened = try keyring.openSlot(
        .rawKey(secret(Self.pattern(seed: 3))))
      let root = reveal(opened.key.secret)
      var classKeys: [[UInt8]] = []
      for entry in keyring.wrappingKeys {
        classKeys.append(reveal(try keyring.open(entry, under: opened.key.secret)))
      }
      var dataKeys: [[UInt8]] = []
      for (index, entry) in keyring.dataKeys.enumerated() {
        let key = try entry.unwrap(
          under: secret(classKeys[index]), storeID: keyring.storeID)
        dataKeys.append(reveal(key))
      }
      let derived = try (0..<2).map { try Self.derivedKey(dataKeys[$0], sealed: sealed[$0]) }
      let closedByLock =
        [root, classKeys[0], dataKeys[0], derived[0]] + Self.schedule(dataKeys[0]) + Self.schedule(derived[0])
      let closedByEverything =
        [classKeys[1], dataKeys[1], derived[1]] + Self.schedule(dataKeys[1]) + Self.schedule(derived[1])
      let neverKept = [Self.pattern(seed: 3), Self.pattern(seed: 4)]
      let purposes = try ["NL1/keyring", "NL1/names"].map {
        reveal(try keyring.derive($0, root: opened.key.secret))
      }

      #expect(try child.occurrences(of: closedByLock + closedByEverything).allSatisfy { $0 > 0 })
      #expect(try child.occurrences(of: neverKept + purposes).allSatisfy { $0 == 0 })
      try child.goOn()
      _ = try child.linesUntilReady()
      #expect(try child.occurrences(of: closedByLock).allSatisfy { $0 == 0 })
      #expect(try child.occurrences(of: closedByEverything).allSatisfy { $0 > 0 })
      try child.goOn()
      _ = try child.linesUntilReady()
      #expect(try child.occurrences(of: closedByLock + closedByEverything).allSatisfy { $0 == 0 })
      try child.goOn()
      #expect(child.waitUntilExit() == 0)
    }

    @Test func `a shredded key and its effaceable secret are in no memory any more`() throws {
      let child = try ChildProcess("shred")
      let lines = try child.linesUntilReady()
      let keyring = try Keyring(parsing: try #require(lines.first { $0.word == "KEYRING" }).bytes)
      let sealed = lines.filter { $0.word == "SEALED" }.map(\.bytes)
      try #require(sealed.count == 2)
      let opened = try keyring.openSlot(.rawKey(secret(Self.pattern(seed: 3))))
      let entry = try #require(keyring.wrappingKeys.first)
      let classKey = try keyring.open(entry, under: opened.key.secret)
      let effaceable = try secret(Self.pattern(seed: 7))
      let both = try Secret(joining: classKey, effaceable)
      let wrapping = try OpenSSL.hkdfSHA256(
        both.bytes, salt: keyring.storeID.array, info: Array("NL1/effaceable".utf8))
      let first = reveal(
        try keyring.dataKeys[0].unwrap(under: wrapping, storeID: keyring.storeID))
      let second = reveal(
        try keyring.dataKeys[1].unwrap(under: classKey, storeID: keyring.storeID))
      let doomed = try [first, Self.derivedKey(first, sealed: sealed[0])] + Self.schedule(first)
      let never = [Self.pattern(seed: 7), reveal(wrapping)]
      #expect(try child.occurrences(of: doomed + [second]).allSatisfy { $0 > 0 })
      #expect(try child.occurrences(of: never).allSatisfy { $0 == 0 })
      try child.goOn()
      _ = try child.linesUntilReady()
      #expect(try child.occurrences(of: doomed + never).allSatisfy { $0 == 0 })
      #expect(try child.occurrences(of: [second]).allSatisfy { $0 > 0 })
      try child.goOn()
      #expect(child.waitUntilExit() == 0)
    }

    @Test func `a forked child refuses to seal, to open and to change keys, and no nonce repeats`() throws {
      let child = try ChildProcess("fork")
      let lines = try child.linesUntilReady()
      let said = lines.filter { $0.word != "SEALED" }.map {
        "\($0.word) \(String(decoding: $0.bytes, as: UTF8.self))"
      }
      #expect(
        said == [
          "FORKED seal", "FORKED run", "FORKED open", "FORKED secret", "FORKED change",
          "FORKED unlock",
          "CHILD ended", "PARENT ended",
        ])
      let nonces = lines.filter { $0.word == "SEALED" }.map { Array($0.bytes.prefix(SealedValue.nonceSize)) }
      #expect(nonces.count == 2 && Set(nonces).count == 2)
      #expect(child.waitUntilExit() == 0)
    }

    // MARK: what to look for

    /// The child's formula.
    private static func pattern(seed: Int, byteCount: Int = 32) -> [UInt8] {
      (0..<byteCount).map {
        UInt8(truncatingIfNeeded: ($0 &* 73 &+ seed &* 29 &+ 17) ^ ($0 << 3) ^ (seed << 2))
      }
    }

    /// The key that XAES derives for a sealed value.
    private static func derivedKey(_ key: [UInt8], sealed: [UInt8]) throws -> [UInt8] {
      let context = try XAES(key: secret(key))
      let empty = try secret([])
      _ = try context.sealWhole(
        empty.bytes, additionalData: [], nonce: Array(sealed.prefix(SealedValue.nonceSize)))
      return context.pageBytes(192..<224)
    }

    /// The round keys of AES-256 (FIPS 197) that are not the key itself: sixteen bytes each.
    private static func schedule(_ key: [UInt8]) -> [[UInt8]] {
      var words = stride(from: 0, to: 32, by: 4).map { Array(key[$0..<$0 + 4]) }
      var constant: UInt8 = 1
      for index in 8..<60 {
        var word = words[index - 1]
        if index % 8 == 0 {
          word = (Array(word[1...]) + [word[0]]).map(substitute)
          word[0] ^= constant
          constant = constant << 1
        } else if index % 8 == 4 {
          word = word.map(substitute)
        }
        words.append((0..<4).map { word[$0] ^ words[index - 8][$0] })
      }
      return (2..<15).map { round in words[(4 * round)..<(4 * round + 4)].flatMap { $0 } }
    }

    /// The S-box, computed: inverse in GF(2^8), then the affine map.
    private static func substitute(_ byte: UInt8) -> UInt8 {
      func multiply(_ one: UInt8, _ other: UInt8) -> UInt8 {
        var (a, b, product) = (one, other, UInt8(0))
        while b > 0 {
          if b & 1 == 1 { product ^= a }
          a = a << 1 ^ (a & 0x80 > 0 ? 0x1B : 0)
          b = b >> 1
        }
        return product
      }
      let inverse = (1...255).map { UInt8($0) }.first { multiply($0, byte) == 1 } ?? 0
      func rotated(_ by: UInt8) -> UInt8 { inverse << by | inverse >> (8 - by) }
      return inverse ^ rotated(1) ^ rotated(2) ^ rotated(3) ^ rotated(4) ^ 0x63
    }
  }
#endif
