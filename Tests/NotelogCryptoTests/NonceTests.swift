// Nonces: never twice, shared salts within a run only (FORMAT.md 21.5).

import Testing

@testable import NotelogCrypto

@Suite struct NonceTests {
  /// INV-E3.
  @Test func `no nonce comes twice, from single seals and from runs, on several threads`() async throws {
    let key = try SealingKey(byte: 9)
    let nonces = try await withThrowingTaskGroup(of: [[UInt8]].self) { group in
      for task in 0..<8 {
        group.addTask {
          var nonces: [[UInt8]] = []
          var run = NonceRun()
          for round in 0..<2_000 {
            if round.isMultiple(of: 300) { run = NonceRun() }
            let sealed = task.isMultiple(of: 2) ? try key.seal([]) : try key.seal([], run: &run)
            nonces.append(Array(sealed.prefix(SealedValue.nonceSize)))
          }
          return nonces
        }
      }
      return try await group.reduce(into: []) { $0 += $1 }
    }
    #expect(nonces.count == 16_000)
    #expect(Set(nonces).count == nonces.count)
  }

  @Test func `a run shares its salt for 4,096 values, and only the last two bytes of the IV count`() throws {
    let key = try SealingKey(byte: 9)
    var run = NonceRun()
    let nonces = try (0..<9_000).map { _ in Array(try key.seal([], run: &run).prefix(SealedValue.nonceSize)) }
    let prefixes = nonces.map { Array($0.prefix(22)) }
    #expect(Set(prefixes).count == 3)
    #expect(Set(prefixes[0..<4_096]).count == 1 && Set(prefixes[4_096..<8_192]).count == 1)
    #expect(Set(nonces[0..<4_096].map { $0[22...] }).count == 4_096)
    #expect(Set(nonces).count == 9_000)
  }

  @Test func `a run counts on from its highest number to its lowest, and changes nothing else`() throws {
    let key = try SealingKey(byte: 9)
    var run = NonceRun()
    let first = try key.seal([], run: &run).prefix(22)
    run.words[2] |= 0xFFFF << 48
    for last: [UInt8] in [[0, 0], [1, 0], [2, 0]] {
      #expect(try Array(key.seal([], run: &run).prefix(24)) == first + last)
    }
    run.words[2] |= 0xFF << 48
    #expect(try Array(key.seal([], run: &run).prefix(24)) == first + [0, 1])
  }

  @Test func `what a run sealed opens by itself, in any order`() throws {
    let key = try SealingKey(byte: 9)
    var run = NonceRun()
    let values = try (0..<300).map {
      try key.seal([UInt8(truncatingIfNeeded: $0)], additionalData: [1], run: &run)
    }
    for index in values.indices.reversed() {
      #expect(try key.open(values[index], additionalData: [1]) == [UInt8(truncatingIfNeeded: index)])
      #expect(key.refusal(values[index], additionalData: [2]).0 == .tampered)
    }
  }

  @Test func `a run serves several keys, each with its own derived key`() throws {
    let one = try SealingKey(byte: 1)
    let two = try SealingKey(byte: 2)
    var run = NonceRun()
    let values = try (0..<20).map { try ($0.isMultiple(of: 2) ? one : two).seal([UInt8($0)], run: &run) }
    #expect(Set(values.map { Array($0.prefix(24)) }).count == 20)
    for (index, value) in values.enumerated() {
      let (right, wrong) = index.isMultiple(of: 2) ? (one, two) : (two, one)
      #expect(try right.open(value) == [UInt8(index)])
      #expect(wrong.refusal(value).0 == .tampered)
    }
  }

  /// A cloned virtual machine has the same run: a run of its own for each transaction ends that.
  @Test func `each run draws a salt of its own when its first value is sealed`() throws {
    let key = try SealingKey(byte: 9)
    var salts: Set<[UInt8]> = []
    for _ in 0..<100 {
      var run = NonceRun()
      #expect((0..<3).allSatisfy { run.words[$0] == 0 }, "nothing is drawn before it is needed")
      let first = try key.seal([], run: &run)
      let second = try key.seal([], run: &run)
      #expect(first.prefix(22) == second.prefix(22))
      salts.insert(Array(first.prefix(12)))
    }
    #expect(salts.count == 100)
  }
}
