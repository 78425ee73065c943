// What the tests of this module share: bytes as hex, keys made of one byte, spans over arrays.

import Foundation
import NotelogBase
import Testing

@testable import NotelogCrypto

/// The bytes that hexadecimal digits say; everything that is no digit is skipped.
func hex(_ text: String) -> [UInt8] {
  let digits = text.compactMap(\.hexDigitValue)
  precondition(digits.count.isMultiple(of: 2))
  return stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
}

func secret(_ bytes: [UInt8], in memory: SecretMemory = .shared) throws -> Secret {
  var secret = try Secret(byteCount: bytes.count, in: memory)
  secret.fill(bytes)
  return secret
}

extension UInt8 {
  /// scrypt's N = 2^14: what tests take, that would otherwise last for minutes.
  static let forTests = Keyring.Slot.works.lowerBound
}

extension Vault {
  /// A change, made by a closure that may throw anything.
  func changed(_ body: (inout Change) throws -> Void) throws -> Change {
    var failure: (any Error)?
    let change = try changing { change in
      do { try body(&change) } catch { failure = error }
    }
    if let failure { throw failure }
    return change
  }
}

func password(_ text: String) throws -> Credential { .password(try Secret(utf8: text)) }

/// The bytes of a secret, for a test to compare.
func reveal(_ secret: borrowing Secret) -> [UInt8] { secret.array(0..<secret.byteCount) }

extension SealingKey {
  /// A key of thirty-two equal bytes.
  convenience init(
    byte: UInt8, reference: UInt32 = 1, class accessClass: AccessClass = .whenUnlocked,
    memory: SecretMemory = .shared
  ) throws {
    self.init(
      reference: KeyReference(rawValue: reference), accessClass: accessClass,
      key: try secret([UInt8](repeating: byte, count: 32), in: memory), memory: memory)
  }

  /// Seals under the first nonce of a run of its own.
  func seal(_ plaintext: [UInt8], additionalData: [UInt8] = []) throws -> [UInt8] {
    var run = NonceRun()
    return try seal(plaintext, additionalData: additionalData, run: &run)
  }

  func seal(_ plaintext: [UInt8], additionalData: [UInt8] = [], run: inout NonceRun) throws -> [UInt8] {
    var output = [UInt8](repeating: 0xEE, count: plaintext.count + SealedValue.overhead)
    var span = output.mutableSpan
    // SAFETY: arrays of bytes are initialised throughout.
    var target = unsafe span.mutableBytes
    try unsafe seal(
      plaintext.span.bytes, additionalData: additionalData.span.bytes, nonces: &run, into: &target)
    return output
  }

  func open(_ sealed: [UInt8], additionalData: [UInt8] = []) throws -> [UInt8] {
    var output = [UInt8](repeating: 0xEE, count: max(0, sealed.count - SealedValue.overhead))
    var span = output.mutableSpan
    // SAFETY: arrays of bytes are initialised throughout.
    var target = unsafe span.mutableBytes
    try unsafe open(sealed.span.bytes, additionalData: additionalData.span.bytes, into: &target)
    return output
  }

  /// What `open` threw, and what it left in the output.
  func refusal(_ sealed: [UInt8], additionalData: [UInt8] = []) -> (CryptoError?, [UInt8]) {
    var output = [UInt8](repeating: 0xEE, count: max(0, sealed.count - SealedValue.overhead))
    var span = output.mutableSpan
    // SAFETY: arrays of bytes are initialised throughout.
    var target = unsafe span.mutableBytes
    do throws(CryptoError) {
      try unsafe open(sealed.span.bytes, additionalData: additionalData.span.bytes, into: &target)
      return (nil, output)
    } catch {
      return (error, output)
    }
  }
}

/// Runs a body on threads of its own, all alive at once, and collects what it returns.
func onThreads(_ count: Int, _ body: @escaping @Sendable (Int) -> Int) -> [Int] {
  let results = Lock([Int](repeating: 0, count: count))
  let start = DispatchSemaphore(value: 0)
  let done = DispatchGroup()
  for index in 0..<count {
    done.enter()
    Thread {
      start.wait()
      let result = body(index)
      results.withLock { $0[index] = result }
      done.leave()
    }.start()
  }
  for _ in 0..<count { start.signal() }
  done.wait()
  return results.withLock { $0 }
}
