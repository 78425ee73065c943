// Where the nonces of sealed values come from (FORMAT.md 21.5).

import NotelogConcurrency
import Synchronization

/// The entropy that all nonces of a store share.
///
/// Each sealing context draws its nonces from a buffer of its own, filled by OpenSSL's generator, and adds
/// (XOR) twenty-four bytes kept here. ``mixFreshEntropy()`` renews those from the system, once a transaction:
/// a cloned virtual machine clones buffers and OpenSSL's generator, but not what getrandom(2) says
/// afterwards.
package final class NonceSource: Sendable {
  let memory: SecretMemory
  /// Counts the renewals, so that a context sees with one load that it must fetch the new bytes.
  let epoch = Atomic<UInt64>(0)
  /// The bytes, and as many more in which fresh ones are fetched.
  private let entropy: Lock<Secret>

  package init(memory: SecretMemory = .shared) throws(CryptoError) {
    self.memory = memory
    entropy = Lock(try Secret.random(byteCount: 2 * SealedValue.nonceSize, in: memory))
  }

  /// Mixes in fresh bytes from the system. Call it once for each transaction or batch, before it seals.
  package func mixFreshEntropy() throws(CryptoError) {
    guard memory.isOriginalProcess else { throw .forked }
    try entropy.withLock { entropy throws(CryptoError) in
      // SAFETY: it holds two times twenty-four bytes, aligned to eight.
      let words = unsafe entropy.pointer.assumingMemoryBound(to: UInt64.self)
      try unsafe Random.system(words + 3, byteCount: SealedValue.nonceSize)
      for index in 0..<3 {
        unsafe words[index] ^= words[index + 3]
        unsafe words[index + 3] = 0
      }
      epoch.add(1, ordering: .releasing)
    }
  }

  /// Copies the shared bytes to a context's own memory, and says of which epoch they are.
  func copyEntropy(to target: UnsafeMutableRawPointer) -> UInt64 {
    entropy.withLock { entropy in
      // SAFETY: the caller's memory holds twenty-four bytes and is the caller's alone.
      unsafe target.copyMemory(from: entropy.pointer, byteCount: SealedValue.nonceSize)
      return epoch.load(ordering: .relaxed)
    }
  }
}
