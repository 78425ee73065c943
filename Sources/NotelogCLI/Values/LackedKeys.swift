// Keys under which values are sealed and which can't be had, as a command over many records comes upon them.
import Notelog

/// Counts what is sealed under keys that can't be had, and says it once: under those that the keyring lacks, which is damage, and those that
/// were shredded, or are elsewhere.
final class LackedKeys {
  private let store: Store
  private let console: Console
  private let isExport: Bool
  /// Why each key that a value could not be opened for can't be had; nil where the keyring lacks it.
  private var reasons: [UInt32: String?] = [:]
  /// How many values are under each of them.
  private var valueCounts: [UInt32: Int] = [:]

  /// Begins to count. What an export leaves out is no success, as what it prints is to be all there is.
  init(of store: Store, _ console: Console, isExport: Bool = false) {
    (self.store, self.console, self.isExport) = (store, console, isExport)
  }

  /// Notes a record's values that are sealed under keys which can't be had; for an export, each value that is not opened.
  func note(_ shown: RecordShown) {
    for (_, content) in shown.fields {
      switch content {
      case .keyMissing(_, let key): count(key)
      case .sealed(_, let key) where isExport: count(key)
      default: break
      }
    }
  }

  private func count(_ key: UInt32) {
    valueCounts[key, default: 0] += 1
    if reasons[key] == nil { reasons[key] = .some(reason(key)) }
  }

  private func reason(_ key: UInt32) -> String? {
    guard let found = store.info.keys.first(where: { $0.generations.contains(key) }) else { return nil }
    switch found.state {
    case .shredded: return "was shredded"
    case .missingFile: return "can't be had without its effaceable file, which backups leave out"
    case .elsewhere: return "stayed on the device that it was made on"
    case .locked, .open: return "is not opened by the password or key that was given"
    }
  }

  /// Says what can't be had.
  ///
  /// - Returns: What the command exits with: `code` where nothing lacks.
  func end(_ code: ExitCode) -> ExitCode {
    var code = code
    for (key, count) in valueCounts.sorted(by: { $0.key < $1.key }) {
      let values = counted(count, "value")
      if let reason = reasons[key] ?? nil {
        console.say(isExport ? "error" : "note", "\(values) can't be opened: key \(key) \(reason)")
        if isExport { code.meet(.damage) }
      } else {
        console.say(
          "error",
          "\(values) can't be opened: the keyring lacks key \(key), under which \(count == 1 ? "it was" : "they were") sealed"
        )
        code.meet(.damage)
      }
    }
    return code
  }
}
