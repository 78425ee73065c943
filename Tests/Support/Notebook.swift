// What a workload promised, and when.

import NotelogBase

/// Notes that a workload takes while it runs, each bound to the calls the disk had seen by then.
///
/// A note is taken just after what it tells about. A crash after a later call must honour it; a crash after
/// the very last call before it must too, since both can have happened before the power went.
package final class Notebook<Note: Sendable>: Sendable {
  private let disk: SimulatedDisk
  private let entries = Lock<[(callCount: Int, note: Note)]>([])

  package init(of disk: SimulatedDisk) { self.disk = disk }

  /// Everything noted so far.
  package var all: [Note] { entries.withLock { $0.map(\.note) } }

  /// Notes what has happened, or is about to.
  package func note(_ note: Note) {
    entries.withLock { $0.append((disk.callCount, note)) }
  }

  /// What was noted before the machine went down just after a call.
  func notes(upToCall call: Int) -> [Note] {
    entries.withLock { entries in
      entries.prefix { $0.callCount <= call + 1 }.map(\.note)
    }
  }
}
