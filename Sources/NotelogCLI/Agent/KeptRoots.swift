// The unlock roots that an agent keeps, each until its time is over.
import Notelog

/// Roots by their stores. What is taken out is wiped at once, unless somebody still sends it.
struct KeptRoots: Sendable {
  private var roots: [RecordID: (root: SecretBytes, end: ContinuousClock.Instant)] = [:]

  var isEmpty: Bool { roots.isEmpty }
  /// When the next one's time is over.
  var nextEnd: ContinuousClock.Instant? { roots.values.map(\.end).min() }

  /// Keeps a store's root, in place of the one that was kept of it.
  ///
  /// - Returns: Whether there was room.
  mutating func keep(_ root: SecretBytes, of store: RecordID, until end: ContinuousClock.Instant) -> Bool {
    guard roots[store] != nil || roots.count < AgentMessage.storesMax else { return false }
    roots[store] = (root, end)
    return true
  }

  /// A store's root, unless its time is over.
  func root(of store: RecordID, at now: ContinuousClock.Instant) -> SecretBytes? {
    roots[store].flatMap { now < $0.end ? $0.root : nil }
  }

  /// Forgets what has had its time.
  mutating func forgetEnded(at now: ContinuousClock.Instant) { roots = roots.filter { now < $0.value.end } }

  mutating func forget(_ store: RecordID) { roots[store] = nil }

  mutating func forgetAll() { roots = [:] }

  /// The stores, and the seconds that are left, in order of their ids.
  func list(at now: ContinuousClock.Instant) -> [(store: RecordID, seconds: UInt32)] {
    roots.sorted { $0.key < $1.key }.map { store, kept in
      (store, UInt32(clamping: max(0, now.duration(to: kept.end).components.seconds)))
    }
  }
}
