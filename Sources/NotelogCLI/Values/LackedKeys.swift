// Keys under which values are sealed and which the keyring lacks, as a command over many records comes upon them.
import Notelog

/// Tells keys that the keyring lacks, which is damage, from those that are locked, elsewhere or shredded.
final class LackedKeys {
  private let store: Store
  private let console: Console
  /// What is known of each key that a value could not be opened for.
  private var lacks: [UInt32: Bool] = [:]
  /// How many values are under each that is lacking.
  private var valueCounts: [UInt32: Int] = [:]

  init(of store: Store, _ console: Console) {
    self.store = store
    self.console = console
  }

  /// Notes a record's values that are sealed under keys which can't be had.
  func note(_ shown: RecordShown) {
    for case .keyMissing(_, let key) in shown.fields.map(\.content) where isLacking(key) {
      valueCounts[key, default: 0] += 1
    }
  }

  private func isLacking(_ key: UInt32) -> Bool {
    if let known = lacks[key] { return known }
    // Of a shredded key not even the numbers are left: beside one, a key that is not there may be it.
    let isLacking = !store.info.keys.contains { $0.generations.contains(key) || $0.state == .shredded }
    lacks[key] = isLacking
    return isLacking
  }

  /// Says what lacks.
  ///
  /// - Returns: What the command exits with: `code` where nothing does.
  func end(_ code: ExitCode) -> ExitCode {
    for (key, count) in valueCounts.sorted(by: { $0.key < $1.key }) {
      console.say(
        "error",
        "\(counted(count, "value")) can't be opened: the keyring lacks key \(key), under which \(count == 1 ? "it was" : "they were") sealed"
      )
    }
    return valueCounts.isEmpty ? code : .damage
  }
}
