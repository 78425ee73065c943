// A secret with what it is for. All of that is sealed: who has the files sees how many there are, and whether they may move.

import Notelog

/// When secrets of a kind can be read: each kind has a key of its own.
protocol Protection: Sendable {
  static var key: String { get }
  static var keyClass: KeyClass { get }
}

enum WhenUnlocked: Protection {
  static let key = "when-unlocked"
  static let keyClass = KeyClass.whenUnlocked
}

enum AfterFirstUnlock: Protection {
  static let key = "after-first-unlock"
  static let keyClass = KeyClass.afterFirstUnlock
}

/// All kinds, by the names that people give.
let protections: [(name: String, type: any Protection.Type)] = [
  ("when-unlocked", WhenUnlocked.self), ("after-first-unlock", AfterFirstUnlock.self),
]

/// A secret of one kind.
struct Entry<P: Protection>: Record {
  var id = RecordID()
  var isMigratable = true
  var group = ""
  var identifier = ""
  var secret = ""
  static var schema: Schema<Entry> {
    Schema(P.key) {
      Plain("isMigratable", \.isMigratable)
      Sealed("group", \.group, key: P.key)
      Sealed("identifier", \.identifier, key: P.key)
      Sealed("secret", \.secret, key: P.key)
    }
  }
}
