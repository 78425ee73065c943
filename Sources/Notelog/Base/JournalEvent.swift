// What happens to an open journal that whoever operates the store wants to know.

/// An event. It is told where it happens, whatever locks are held there: whoever is told only takes note.
enum JournalEvent: Sendable {
  /// A log that was not closed in order was recovered, and so many bytes were cut off.
  case recovered(tornByteCount: Int)
  /// Segments were compacted.
  case compacted(CompactionResult)
  /// A place is damaged. Each is told once.
  case damageFound(Damage)
  /// A sync that commits, or closing, waited for took so long.
  case slowSync(Duration)
  /// A write or a sync failed: nothing more is written.
  case poisoned(JournalError)
}
