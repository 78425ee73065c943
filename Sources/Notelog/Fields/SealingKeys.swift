// The keys of a collection's fields, looked up once a transaction.

import NotelogCrypto

/// The keys that a transaction seals a collection's fields with; each is looked up when it is first needed.
struct SealingKeys {
  private let vault: Vault
  private var keys: [SealingKey?]

  init(_ vault: Vault, for plan: CollectionPlan) {
    self.vault = vault
    keys = Array(repeating: nil, count: plan.fields.count)
  }

  /// The key in force for a field.
  mutating func key(_ index: Int, of plan: CollectionPlan) throws(NotelogError) -> SealingKey {
    if let key = keys[index] { return key }
    let reference = KeyReference(rawValue: plan.fields[index].keyReference)
    let vault = vault
    let key = try naming("\(plan.schema.name).\(plan.fields[index].field.name)") { () throws(CryptoError) in
      try vault.sealingKey(reference)
    }
    keys[index] = key
    return key
  }
}
