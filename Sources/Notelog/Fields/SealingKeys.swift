// The keys of a collection's fields, looked up once a transaction.

import NotelogCrypto

/// The keys that a transaction seals a collection's fields with; each is looked up when it is first needed.
struct SealingKeys {
  private let vault: Vault
  private var keys: [HeldKey?]

  init(_ vault: Vault, for plan: CollectionPlan) {
    self.vault = vault
    keys = Array(repeating: nil, count: plan.fields.count)
  }

  /// Gets ready for another transaction: keys that are no longer in force are forgotten.
  mutating func reset(for plan: CollectionPlan) {
    if keys.count != plan.fields.count { keys = Array(repeating: nil, count: plan.fields.count) }
    for index in keys.indices {
      guard let held = keys[index] else { continue }
      let reference = KeyReference(rawValue: plan.fields[index].keyReference)
      let isInForce = (try? vault.sealingKey(reference)) === held.key
      if !isInForce { keys[index] = nil }
    }
  }

  /// The key in force for a field.
  mutating func key(_ index: Int, of plan: CollectionPlan) throws(NotelogError) -> HeldKey {
    if let held = keys[index] { return held }
    let reference = KeyReference(rawValue: plan.fields[index].keyReference)
    let vault = vault
    let key = try naming("\(plan.schema.name).\(plan.fields[index].field.name)") { () throws(CryptoError) in
      try vault.sealingKey(reference)
    }
    let held = HeldKey(key, vault)
    keys[index] = held
    return held
  }
}
