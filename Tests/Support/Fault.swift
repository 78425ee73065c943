// System calls that go wrong on purpose.

package import NotelogStorage

/// A failure that a simulated disk was told to produce.
package struct Fault: Sendable, CustomStringConvertible {
  /// What goes wrong.
  package enum Kind: Sendable, Hashable {
    /// The call fails and has done nothing.
    case error(Int32)
    /// The write fails, after some of its bytes were taken all the same.
    case errorAfterHalf(Int32)
    /// The call moves fewer bytes than asked, and says so.
    case shortCount
    /// The sync fails, and the system forgets what it could not write: later syncs succeed. What is read
    /// afterwards is what was written, or what was there before.
    case syncDropsPages(readsOldBytes: Bool)
  }

  package let kind: Kind
  /// Which calls count and can fail.
  package let calls: Set<StorageError.Call>
  /// How many of these calls pass before one fails.
  package var passing: Int
  /// Whether every such call from then on fails too.
  package let lasts: Bool

  package init(_ kind: Kind, of calls: Set<StorageError.Call>, passing: Int, lasts: Bool = false) {
    self.kind = kind
    self.calls = calls
    self.passing = passing
    self.lasts = lasts
  }

  package var description: String {
    let names = calls.map(\.rawValue).sorted().joined(separator: "|")
    return "\(kind) at \(names) number \(passing)\(lasts ? " and later" : "")"
  }
}

extension Set<StorageError.Call> {
  package static let everyCall: Self = [
    .open, .readdir, .rename, .unlink, .mkdir, .read, .write, .allocate, .truncate, .sync, .syncFolder, .stat,
    .lock,
  ]
  /// The calls that may need space.
  package static let taking: Self = [.open, .rename, .mkdir, .write, .allocate]
  /// The calls that a signal can interrupt.
  package static let interruptible: Self = [
    .open, .read, .write, .allocate, .truncate, .sync, .syncFolder, .lock,
  ]
  /// The calls that look up a name.
  package static let naming: Self = [.open, .readdir, .rename, .unlink, .mkdir, .syncFolder]
}
