// The unlock root itself, for whoever keeps it between two processes (docs/format-keyring.md 10.4).

import NotelogBase

extension Vault {
  /// A copy of the unlock root, which ``unlock(root:checking:)`` takes without the work that a password costs.
  ///
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/closed``.
  package func rootCopy() throws(CryptoError) -> Secret {
    let now = try draft()
    return try now.root.secret.copy()
  }

  /// Opens the keyring with its unlock root. Whether it is the keyring's, the keyring's MAC says: one that is not may be of an earlier
  /// keyring, so the other copy is tried only where it is of the same generation.
  ///
  /// - Throws: ``CryptoError/wrongKey``, also where the keyring was altered: a credential tells which;
  ///   ``CryptoError/tamperedSchema(_:)``, ``CryptoError/tamperedKeyring``, ``CryptoError/lockedMeanwhile``.
  package func unlock(root: borrowing Secret, checking schemas: [SealedSchema] = []) throws(CryptoError) {
    guard SecretMemory.shared.isOriginalProcess else { throw .forked }
    let (keyring, other, epoch) = state.withLock { ($0.keyring, $0.other, lockEpoch) }
    if try keyring.verifyMAC(root: root) {
      return try open(keyring, SharedSecret(try root.copy()), isOther: false, schemas, epoch)
    }
    guard let other, CryptoError.wrongKey.permits(other, insteadOf: keyring), try other.verifyMAC(root: root)
    else { throw .wrongKey }
    try open(other, SharedSecret(try root.copy()), isOther: true, schemas, epoch)
  }
}
