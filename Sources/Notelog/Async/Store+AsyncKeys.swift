// Keys and credentials for tasks: a password's work and the keyring's files hold up no thread of the cooperative pool.

import NotelogBase

extension Store {
  /// Unlocks the keys: a password takes a while on purpose. As the other, without blocking the caller's thread.
  public func unlock(_ credential: Credential) async throws {
    try await offPool { try self.unlock(credential) }
  }

  /// Unlocks the keys with the unlock root. As the other, without blocking the caller's thread.
  public func unlock(root: SecretBytes) async throws {
    try await offPool { try self.unlock(root: root) }
  }

  /// Adds another password or key. As the other, without blocking the caller's thread.
  public func addCredential(_ credential: Credential, work: UInt8 = 17) async throws {
    try await offPool { try self.addCredential(credential, work: work) }
  }

  /// Adds a recovery key. As the other, without blocking the caller's thread.
  public func addRecoveryKey() async throws -> String {
    try await offPool { try self.addRecoveryKey() }
  }

  /// Adds what opens some named keys only. As the other, without blocking the caller's thread.
  public func grant(_ names: [String], to credential: Credential, work: UInt8 = 17) async throws {
    try await offPool { try self.grant(names, to: credential, work: work) }
  }

  /// Replaces a password by another. As the other, without blocking the caller's thread.
  public func changeCredential(_ old: Credential, to new: Credential, work: UInt8 = 17) async throws {
    try await offPool { try self.changeCredential(old, to: new, work: work) }
  }

  /// Replaces the unlock root. As the other, without blocking the caller's thread.
  public func rekey(_ old: Credential, to new: Credential, work: UInt8 = 17) async throws {
    try await offPool { try self.rekey(old, to: new, work: work) }
  }

  /// Removes every slot that a credential opens. As the other, without blocking the caller's thread.
  public func removeCredential(_ credential: Credential) async throws {
    try await offPool { try self.removeCredential(credential) }
  }

  /// Removes a slot by its number. As the other, without blocking the caller's thread.
  public func removeSlot(_ number: UInt32) async throws {
    try await offPool { try self.removeSlot(number) }
  }

  /// Creates a named key. As the other, without blocking the caller's thread.
  public func createKey(_ name: String, _ keyClass: KeyClass, isShreddable: Bool = false) async throws {
    try await offPool { try self.createKey(name, keyClass, isShreddable: isShreddable) }
  }

  /// Shreds a key. As the other, without blocking the caller's thread.
  public func shredKey(_ name: String) async throws {
    try await offPool { try self.shredKey(name) }
  }

  /// Makes another generation of a key. As the other, without blocking the caller's thread.
  public func beginRotation(of name: String) async throws {
    try await offPool { try self.beginRotation(of: name) }
  }

  /// Rotates a key, one step of it. As the other, without blocking the caller's thread. Where the task is cancelled the step ends early, as if its
  /// budget were spent.
  @discardableResult
  public func rotate(_ name: String, _ budget: WorkBudget = .unlimited) async throws -> RotationStep {
    try await offPool { stop in try self.rotate(name, budget.stopping(at: stop)) }
  }

  /// How many live values are sealed under each generation of each key. As the other, without blocking the caller's thread; it ends
  /// when the task is cancelled.
  public func countSealedValues() async throws -> SealedValueCounts {
    try await offPool { stop in try self.countSealedValues(until: stop) }
  }
}
