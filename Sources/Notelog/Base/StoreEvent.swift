// What happens to a store that whoever operates it wants to know.

/// Something that happened to a store and that whoever operates it wants to know: ``Store/Options/observer``
/// is told.
///
/// An event says nothing of what is sealed: its words go into a log as they are. Kinds may be added in a
/// minor version, so write a `default` where you switch over them.
public enum StoreEvent: Sendable, CustomStringConvertible {
  /// The store is open. Where it had not been closed in order, and may be written to,
  /// ``recovered(tornByteCount:)`` was told before.
  case opened(wasClosed: Bool)
  /// The log had not been closed in order, as after a crash, and was recovered: so many bytes at its end,
  /// which nothing says were durable, were cut.
  case recovered(tornByteCount: Int)
  /// Compaction replaced segments, by itself or because somebody asked.
  case compacted(CompactionSummary)
  /// A place is damaged, as opening, reading or a scrub found. Each place is told once.
  case damageFound(Finding)
  /// A sync that commits, or closing, waited for took as long as ``Store/Options/slowSync``, or longer.
  case slowSync(Duration)
  /// A write or a sync failed: the store is read from, and takes no more writes until it is opened again.
  case poisoned(NotelogError)
  /// The store was closed.
  case closed

  /// How much an event matters. The raw values are the names of swift-log's levels.
  public enum Severity: String, Sendable, CaseIterable {
    /// What happens every day.
    case info
    /// What is in order, and not usual.
    case notice
    /// What may become a failure.
    case warning
    /// Something is lost, or can't be read.
    case error
    /// Nothing is written any more.
    case critical
  }

  /// How much it matters.
  public var severity: Severity { kind.severity }

  /// The kind's name, for a metric's dimension or a filter: `opened`, `damageFound`.
  public var name: String { kind.name }

  private var kind: (name: String, severity: Severity) {
    switch self {
    case .opened: ("opened", .info)
    case .recovered: ("recovered", .notice)
    case .compacted: ("compacted", .info)
    case .damageFound(let finding): ("damageFound", finding.isDamage ? .error : .warning)
    case .slowSync: ("slowSync", .warning)
    case .poisoned: ("poisoned", .critical)
    case .closed: ("closed", .info)
    }
  }

  /// The event in words, on one line.
  public var description: String {
    switch self {
    case .opened(let wasClosed): wasClosed ? "the store is open" : "the store is open; it had not been closed"
    case .recovered(let count): "the store was recovered, \(count) bytes of its log were cut"
    case .compacted(let summary):
      "\(summary.removedSegments) segments were compacted into \(summary.addedSegments): "
        + "the store takes \(summary.byteCountAfter) bytes, \(summary.byteCountBefore) before"
    case .damageFound(let finding): finding.description
    case .slowSync(let duration): "a sync took \(duration)"
    case .poisoned(let error): error.message
    case .closed: "the store is closed"
    }
  }
}
