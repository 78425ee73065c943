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
  /// How many values are left out of an export, by their keys: these are here, and don't open.
  private var leftOut: [UInt32: Int]?

  /// Begins to count; for an export, each value that is not opened.
  init(of store: Store, _ console: Console, isExport: Bool = false) {
    self.store = store
    self.console = console
    leftOut = isExport ? [:] : nil
  }

  /// Notes a record's values that are sealed under keys which can't be had.
  func note(_ shown: RecordShown) {
    for (_, content) in shown.fields {
      switch content {
      case .keyMissing(_, let key) where isLacking(key): valueCounts[key, default: 0] += 1
      case .keyMissing(_, let key), .sealed(_, let key): leftOut?[key, default: 0] += 1
      default: break
      }
    }
  }

  private func isLacking(_ key: UInt32) -> Bool {
    if let known = lacks[key] { return known }
    // Of a shredded key not even the numbers are left: beside one, a key that is not there may be it.
    let isLacking = !store.info.keys.contains { $0.generations.contains(key) || $0.state == .shredded }
    lacks[key] = isLacking
    return isLacking
  }

  /// Why a key that is here opens nothing.
  private func reason(_ key: UInt32) -> String {
    switch store.info.keys.first(where: { $0.generations.contains(key) })?.state {
    case .open, .locked: "the password or key that was given does not open it"
    case .elsewhere: "it stayed on another device"
    case .missingFile: "its effaceable file is missing"
    case .shredded, nil: "it was shredded"
    }
  }

  /// Says what lacks, and what is left out.
  ///
  /// - Returns: What the command exits with: `code` where nothing does.
  func end(_ code: ExitCode) -> ExitCode {
    for (key, count) in valueCounts.sorted(by: { $0.key < $1.key }) {
      console.say(
        "error",
        "\(counted(count, "value")) can't be opened: the keyring lacks key \(key), under which \(count == 1 ? "it was" : "they were") sealed"
      )
    }
    for (key, count) in (leftOut ?? [:]).sorted(by: { $0.key < $1.key }) {
      console.say("error", "\(counted(count, "value")) under key \(key) left out: \(reason(key))")
    }
    return valueCounts.isEmpty && leftOut?.isEmpty ?? true ? code : .damage
  }
}
