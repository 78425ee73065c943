// How a command fares that reads many records: what could not be read or opened, as it says it, and how it
// exits.
import Notelog
import Synchronization

/// Says which records can't be read, the first of them one by one, the others by their number. Counts what is
/// sealed under keys that can't be had, and says it once: under those that the keyring lacks, which is
/// damage, and those that were shredded, or are elsewhere.
final class ReadingOutcome: Sendable {
  private static let shownCount = 10

  private let store: Store
  private let isExport: Bool
  private let progress = Progress("reading", besideOutput: true, unit: "records")
  /// How many records there are to read; 0 where nobody knows.
  private let total: Int
  /// What the command exits with, as far as it has come; how many records could not be read; and how many
  /// values are under each key that can't be had.
  private let state: Mutex<(code: ExitCode, readCount: Int, unreadableCount: Int, valueCounts: [UInt32: Int])>

  /// Begins with a code, and shows how far it is of a total. What an export leaves out is no success, as what it prints is to be all there is.
  init(of store: Store, _ code: ExitCode = .done, isExport: Bool = false, total: Int = 0) {
    (self.store, self.isExport, self.total) = (store, isExport, total)
    state = Mutex((code, 0, 0, [:]))
  }

  deinit { progress.finish() }

  /// Notes what is wrong with a record that was read, and its values that are sealed under keys which can't
  /// be had; for an export, each value that is not opened.
  ///
  /// - Returns: What the record's own exit code is.
  @discardableResult
  func note(_ shown: RecordShown) -> ExitCode {
    var part = ExitCode.done
    for (_, content) in shown.fields {
      switch content {
      case .sealed(_, let key, let isKeyMissing) where isKeyMissing || isExport:
        state.withLock { $0.valueCounts[key, default: 0] += 1 }
      // Of what failed the first is said, and nothing else.
      case .failed(let error) where part != .damage:
        say("error", "record \(shown.entry.id.shown): \(ToolError(error).message)")
        part = .damage
      default: break
      }
    }
    for case (let name, .long(let byteCount)) in shown.fields where part != .damage {
      say("warning", "record \(shown.entry.id.shown): \(name) is left out, as it has \(byteCount) bytes")
      part = .leftOut
    }
    state.withLock { state in
      // Something is found.
      if state.code == .no { state.code = .done }
      // Damage is said before all else, and what was left out before what went well.
      if part == .damage || part == .leftOut && state.code != .damage { state.code = part }
      state.readCount += 1
      progress.update(state.readCount, of: total)
    }
    return part
  }

  /// Notes a record that can't be read, and says it, unless it was said of enough of them.
  func noteUnreadable(_ finding: Finding) {
    let count = state.withLock { state in
      state.unreadableCount += 1
      return state.unreadableCount
    }
    if count <= Self.shownCount {
      let record = finding.record.map { "record \($0.shown)" } ?? "something"
      say("error", "\(record) cannot be read: \(ToolError(NotelogError(finding)).message)")
    }
  }

  private func say(_ kind: String, _ message: String) {
    progress.finish()
    Console.say(kind, message)
  }

  private func reason(_ key: UInt32) -> String? {
    guard let found = store.info().keys.first(where: { $0.generations.contains(key) }) else { return nil }
    switch found.state {
    case .shredded: return "was shredded"
    case .missingFile: return "can't be had without its effaceable file, which backups leave out"
    case .elsewhere: return "stayed on the device that it was made on"
    case .locked, .open: return "is not opened by the password or key that was given"
    }
  }

  /// Says how many more records could not be read, and what can't be had.
  ///
  /// - Returns: What the command exits with.
  func end() -> ExitCode {
    var (code, _, unreadableCount, valueCounts) = state.withLock { $0 }
    progress.finish(isDone: true)
    if unreadableCount > Self.shownCount {
      Console.say("error", "and \(unreadableCount - Self.shownCount) more records cannot be read")
    }
    if unreadableCount > 0 { code = .damage }
    for (key, count) in valueCounts.sorted(by: { $0.key < $1.key }) {
      let values = counted(count, "value")
      if let why = reason(key) {
        Console.say(isExport ? "error" : "note", "\(values) can't be opened: key \(key) \(why)")
        if isExport { code = .damage }
      } else {
        Console.say(
          "error",
          "\(values) can't be opened: the keyring lacks key \(key), under which \(count == 1 ? "it was" : "they were") sealed"
        )
        code = .damage
      }
    }
    return code
  }
}
