// What a command heard of damage in the stores that it opened, to be said once, at its end.

import Notelog
import Synchronization

/// The damage that a command met, whatever else it did.
final class DamageHeard: Sendable {
  /// The damage, why no keyring of the store serves, what its evidence says that is wrong, and where else it was seen.
  private let heard = Mutex<(report: DamageReport?, keyring: String?, alarm: String?, elsewhere: String?)>(
    (nil, nil, nil, nil))

  /// Notes how a store was when the command was done with it.
  func note(_ damage: DamageReport) {
    guard damage.verdict != .sound else { return }
    heard.withLock { $0.report = damage }
  }

  /// Notes that nothing sealed can be opened, as the keyring is lost.
  func note(keyring reason: String) { heard.withLock { $0.keyring = reason } }

  /// Notes what a store's evidence says that is wrong, where anything is, and where else the store was seen of which nothing
  /// is known here.
  func note(alarm: String?, elsewhere: String?) {
    heard.withLock { ($0.alarm, $0.elsewhere) = (alarm, elsewhere ?? $0.elsewhere) }
  }

  /// What can be done where a store is not what somebody with the key left.
  static func waysOut(_ store: String) -> String {
    "if you put a backup back: 'notelog accept \(store)'; if you did not: 'notelog restore' the newest moment that was shipped, and compare; if it is damaged: 'notelog verify', then 'notelog salvage'"
  }

  /// Says on stderr what was met, and makes of a command's answer the one that says so too.
  func say(after code: ExitCode, _ store: String) -> ExitCode {
    let (report, reason, alarm, elsewhere) = heard.withLock { $0 }
    if let alarm { Console.say("warning", "\(alarm); \(Self.waysOut(store))") }
    if let elsewhere {
      Console.say("note", "the store was last seen at '\(elsewhere)': here it was compared with nothing")
    }
    if reason == nil, report == nil { return code }
    if let reason { Console.say("error", reason) }
    if let report {
      Console.say("error", report.words)
      switch report.verdict {
      case .unproven: Console.say("hint", "'notelog salvage \(store) --to NEW' saves what is left")
      case .contained, .torn, .sound: Console.say("hint", "'notelog verify \(store)' says what is damaged")
      }
    }
    return code == .done || code == .no || code == .leftOut ? .damage : code
  }
}

extension DamageReport {
  /// The damage in one line.
  fileprivate var words: String {
    let segments = Set(findings.compactMap(\.segment)).sorted()
    let place =
      segments.isEmpty ? "" : " (segment \(segments.prefix(10).map(String.init).joined(separator: ", ")))"
    switch verdict {
    case .sound, .torn: return ""
    case .contained where lostRecordCount == 0:
      // A record that is named is there, and one of its values is not.
      let records = Set(findings.compactMap(\.record))
      let lost =
        records.isEmpty ? "no record is lost by it" : "a value of \(counted(records.count, "record")) is lost"
      return "the store is damaged, and \(lost)\(place)\(findings.first.map { ": \($0.message)" } ?? "")"
    case .contained:
      return
        "the store is damaged: \(counted(lostRecordCount, "record")) can't be read, all others are current\(place)"
    case .unproven:
      let known =
        lostRecordCount == 0
        ? "nothing says which records are lost"
        : "\(counted(lostRecordCount, "record")) can't be read, and nothing says which others are lost"
      return "the store is damaged, and \(known): "
        + "those with a revision below \(possiblyStaleBelow) may have been changed or removed since\(place)"
    }
  }
}
