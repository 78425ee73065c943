// The unlock root itself, for whoever keeps it between two processes (FORMAT.md 10.4).

import NotelogBase

extension Vault {
  /// A copy of the unlock root, which ``unlock(root:checking:)`` takes without the work that a password costs.
  ///
  /// - Throws: ``CryptoError/rootLocked``, ``CryptoError/closed``.
  package func rootCopy() throws(CryptoError) -> Secret {
    guard memory.isOriginalProcess else { throw .forked }
    return try state.withLock { state throws(CryptoError) in
      switch state.root {
      case .some(let root): return try root.copy()
      case .none: throw state.isClosed ? .closed : .rootLocked
      }
    }
  }

  /// Opens the keyring with its unlock root. Whether it is the keyring's, the keyring's MAC says: one that is not may be of an earlier
  /// keyring, so the other copy is tried only where it is of the same generation.
  ///
  /// - Throws: ``CryptoError/wrongKey``, also where the keyring was altered: a credential tells which;
  ///   ``CryptoError/tamperedSchema(_:)``, ``CryptoError/tamperedKeyring``, ``CryptoError/lockedMeanwhile``.
  package func unlock(
    root: borrowing Secret, checking schemas: [SealedSchema] = []
  ) throws(CryptoError) {
    guard memory.isOriginalProcess else { throw .forked }
    let (keyring, other, epoch) = state.withLock { ($0.keyring, $0.other, lockEpoch) }
    if try keyring.verifyMAC(root: root, memory: memory) {
      return try open(keyring, root: root, isOther: false, schemas, epoch)
    }
    guard let other, CryptoError.wrongKey.permits(other, insteadOf: keyring),
      try other.verifyMAC(root: root, memory: memory)
    else { throw .wrongKey }
    try open(other, root: root, isOther: true, schemas, epoch)
  }
}
