// What somebody keeps elsewhere of a store that keeps evidence: FORMAT.md §27.

/// What a store was seen to hold: kept elsewhere, it tells later whether the store was put back to a moment before, or
/// goes on from another one. There is no secret in it.
public struct StoreHead: Hashable, Sendable, CustomStringConvertible {
  /// The beginning of the store's id.
  let store: UInt32
  /// Who keeps it, the transaction that was seen, and the last of their own in it; 0 for none.
  let writer: UInt64
  let seen: UInt64
  let own: UInt64
  /// What the state of that transaction was like.
  let tag: UInt64

  /// What is wrong with a state of a later opening; nil where nothing is.
  func fault(of state: EvidenceState, at sequence: UInt64, tag: UInt64) -> String? {
    if sequence < seen { return "the store is older than it was: it was at revision \(seen)" }
    if sequence == seen {
      return tag == self.tag ? nil : "the store is another copy than the one that was seen"
    }
    let last = state.writers.first { $0.id == writer }?.last
    if own <= last ?? state.othersLast { return nil }
    return "what was written here up to revision \(own) is not in the store"
  }
}

extension StoreHead {
  /// A head from its text. Capitals, spaces and hyphens don't matter.
  ///
  /// - Throws: `invalidArgument` where it was not typed as it was printed.
  public init(text: String) throws {
    let bytes = try Credential.bytes(text, Credential.headPrefix, "head")
    func word(_ place: Int, _ count: Int) -> UInt64 {
      (0..<count).reduce(0) { $0 | UInt64(bytes[place + $1]) << UInt64(8 * $1) }
    }
    (store, writer, seen) = (UInt32(word(0, 4)), word(4, 8), word(12, 6))
    (own, tag) = (word(18, 6), word(24, 8))
  }

  /// The text: sixty letters and digits, which check themselves.
  public var description: String {
    func bytes(_ word: UInt64, _ count: Int) -> [UInt8] {
      (0..<count).map { UInt8(truncatingIfNeeded: word >> UInt64(8 * $0)) }
    }
    let all = bytes(UInt64(store), 4) + bytes(writer, 8) + bytes(seen, 6) + bytes(own, 6) + bytes(tag, 8)
    return Credential.recoveryText(all, Credential.headPrefix)
  }
}
