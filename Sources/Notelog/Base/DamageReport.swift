// What is known to be damaged in a store: found at opening, or met since.

/// What is known to be damaged in a store, and what that means for what it serves.
public struct DamageReport: Sendable {
  /// What a store's damage means.
  public enum Verdict: String, Sendable, CaseIterable {
    /// Nothing is known to be damaged.
    case sound
    /// What is lost is known, record by record: reading one of those records throws `damaged`, all others are current, and the
    /// store goes on for reading and writing.
    case contained
    /// Something is lost that nobody can name: any older record may have been changed or removed in it. Such a store is open for
    /// reading only, and only where ``Store/Options/acceptsUnprovenDamage`` says so.
    case unproven
  }

  /// What the damage means.
  public let verdict: Verdict
  /// What is damaged, place by place; at most ten thousand places.
  public let findings: [Finding]
  /// How many records are known to be lost; there may be more where the verdict is `unproven`.
  public let lostRecordCount: Int
  /// Records with a lower revision may be older than they were; 0 where all are current.
  public let staleBelow: UInt64

  /// Where everything is as it should be.
  static let none = DamageReport(verdict: .sound, findings: [], lostRecordCount: 0, staleBelow: 0)
}

extension DamageReport {
  /// What an opening that was refused had found.
  init(_ report: RecoveryReport) {
    self.init(
      verdict: report.isDamaged ? (report.verdict == .unproven ? .unproven : .contained) : .sound,
      findings: report.damages, lostRecordCount: 0,
      staleBelow: report.staleBelow)
  }
}
