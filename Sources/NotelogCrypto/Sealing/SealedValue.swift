// The sizes of a sealed value (FORMAT.md 11.1).

/// The layout of a sealed value: `salt 12 | IV 12 | ciphertext | tag 16`.
package enum SealedValue {
  package static let saltSize = 12
  package static let initialisationVectorSize = 12
  package static let tagSize = Crypto.tagSize
  /// Salt and IV together are the 24-byte nonce of XAES-256-GCM.
  package static let nonceSize = saltSize + initialisationVectorSize
  /// What sealing adds to a plaintext.
  package static let overhead = nonceSize + tagSize
  /// The longest plaintext that is sealed in one piece; longer ones are chunked.
  package static let plaintextMax = 16 << 20
  /// The longest additional data.
  package static let additionalDataMax = 4096
}

/// The cipher of a sealed value; the number is part of its additional data.
package enum Suite: UInt8, Sendable {
  /// XAES-256-GCM: fields and chunks.
  case fields = 1
  /// KC-XAES-256-GCM, key-committing: wrapped keys.
  case wraps = 2
}
