// The keys of a collection's fields, looked up once a transaction.

import NotelogBase
import NotelogCrypto

/// The keys that a transaction seals a collection's fields with; each is looked up when it is first needed.
struct SealingKeys {
  private let vault: Vault
  /// Whether the schemas were checked that say what is sealed under which key.
  private let mayBeUsed: Flag
  private var keys: [HeldKey?]

  init(_ vault: Vault, _ mayBeUsed: Flag, for plan: CollectionPlan) {
    self.vault = vault
    self.mayBeUsed = mayBeUsed
    keys = Array(repeating: nil, count: plan.fields.count)
  }

  /// Gets ready for another transaction: keys that were wiped are forgotten.
  mutating func reset(for plan: CollectionPlan) {
    if keys.count != plan.fields.count { keys = Array(repeating: nil, count: plan.fields.count) }
    for index in keys.indices {
      guard let held = keys[index] else { continue }
      let isOpen = (try? vault.sealingKey(held.key.reference)) === held.key
      if !isOpen { keys[index] = nil }
    }
  }

  /// The key that a field's value is to be sealed under: the one in force, or that which its record names.
  mutating func key(
    _ index: Int, _ reference: UInt32, of plan: CollectionPlan
  ) throws(NotelogError) -> HeldKey {
    if let held = keys[index], held.key.reference.rawValue == reference { return held }
    // A key may be open all the same: one that is always, or by a grant.
    guard mayBeUsed.isSet else {
      throw NotelogError(
        .locked, "\(plan.name(of: index)): nothing is sealed before the store was unlocked")
    }
    let key = try vault.sealingKey(reference, for: plan.name(of: index))
    let held = HeldKey(key, vault)
    keys[index] = held
    return held
  }
}
