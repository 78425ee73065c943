// Shipping of journals alone, which have no keyring.

@testable import Notelog
import NotelogStorage

/// Ships a journal, without a word about keyrings.
@discardableResult
func ship(
  _ disk: any Storage, to archive: any Storage, checkingAll checksAll: Bool = false
) throws -> ShippingSummary {
  try ship(Shipper(disk, to: FolderArchive(archive)), checkingAll: checksAll)
}

/// The same by a shipper that goes on.
@discardableResult
func ship(_ shipper: Shipper, checkingAll checksAll: Bool = false) throws -> ShippingSummary {
  var summary = try shipper.ship(checkingAll: checksAll)
  summary.findings.removeAll { $0.part == .keyring }
  return summary
}

/// Ships a journal, and deletes what is superseded, unless something is wrong.
@discardableResult
func backUp(
  _ disk: any Storage, to archive: any Storage, checkingAll checksAll: Bool = false
) throws -> ShippingSummary {
  let summary = try ship(disk, to: archive, checkingAll: checksAll)
  guard summary.findings.isEmpty else { return summary }
  try FolderArchive(archive).delete(expired(in: archive).names)
  return summary
}

/// What of a journal's archive nobody needs from a time on, as a store's key would have it; or what is wrong.
func expired(
  in archive: any Storage, before time: UInt64 = .max, now: UInt64 = .max
) throws -> (names: [String], findings: [Finding]) {
  let plan = try ArchivePlan(FolderArchive(archive))
  if let alarm = plan.alarm(now: now) { return ([], [Finding(alarm, .structure, isDamage: true)]) }
  do {
    let damages = try verify(archive).damages
    guard damages.isEmpty else { return ([], damages) }
    return try (plan.expired(before: time, plan.view(of: .newest), unlocking: nil), [])
  } catch let error as NotelogError where error.code == .invalidArgument {
    // Which moment is the newest, somebody has to choose.
    return ([], [Finding(error, .structure)])
  }
}

/// Verifies the newest moment of a journal's archive, without a word about keyrings.
func verify(_ archive: any Storage) throws -> (revision: UInt64, damages: [Finding]) {
  let view = try ArchivePlan(FolderArchive(archive)).view(of: .newest)
  return (view.moment.revision, try view.findings + Journal.verify(view).report.damages)
}

/// Restores a journal, without a word about keyrings.
@discardableResult
func restore(
  _ archive: any Storage, to target: any Storage, at moment: ArchiveMoment = .newest, branch: String? = nil
) throws -> RestoreSummary {
  var summary = try Store.restore(FolderArchive(archive), to: target, at: moment, branch: branch)
  summary.findings.removeAll { $0.part == .keyring }
  return summary
}
