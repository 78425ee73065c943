// A data key, ready to seal and to open (FORMAT.md 11).

package final class SealingKey: Sendable {
  package let reference: KeyReference
  package let accessClass: AccessClass

  package init(
    reference: KeyReference, accessClass: AccessClass, key: consuming Secret, nonces: NonceSource
  ) throws(CryptoError) {
    self.reference = reference
    self.accessClass = accessClass
  }

  package func seal(
    _ plaintext: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    throw .library
  }

  package func seal(
    _ plaintext: RawSpan, additionalData: RawSpan, nonces: inout NonceRun, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    throw .library
  }

  package func open(
    _ sealed: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    throw .library
  }

  package func wipe() {}
}
