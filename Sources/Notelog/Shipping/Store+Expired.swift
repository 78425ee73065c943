// What of an archive nobody needs any more: FORMAT.md §26.

public import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

extension Store {
  /// The objects of an archive that no moment from a time on needs, nor the newest.
  ///
  /// Nothing is deleted. Whoever does so has ``FolderArchive/delete(_:)``, or the means of the bucket.
  ///
  /// - Parameters:
  ///   - archive: The archive.
  ///   - time: Every moment from then on is kept.
  ///   - branch: The first digits of the branch whose newest moment is kept; nil where it is clear which.
  ///   - credential: What opens the keyrings of which older ones may go; nil keeps all of them.
  /// - Returns: Their names; none while something stands against it, and then what it is.
  /// - Throws: What the archive throws; `wrongPassword`, `tampered`.
  public static func expired(
    in archive: any Archive, before time: Date, branch: String? = nil, unlocking credential: Credential? = nil
  ) throws -> (names: [String], findings: [Finding]) {
    try expired(
      in: archive, before: time.milliseconds, branch: branch, unlocking: credential,
      now: JournalOptions().clock())
  }

  static func expired(
    in archive: any Archive, before time: UInt64, branch: String? = nil,
    unlocking credential: Credential? = nil,
    now: UInt64
  ) throws(NotelogError) -> (names: [String], findings: [Finding]) {
    let plan = try ArchivePlan(archive)
    if let alarm = plan.alarm(now: now) { return ([], [Finding(alarm, .structure, isDamage: false)]) }
    do throws(NotelogError) {
      let newest = try plan.view(of: .newest, on: prefix(branch))
      var findings = try newest.findings + plan.otherHistories(of: newest)
      if credential == nil {
        findings += try Journal.verify(newest).report.damages
        let words = "keyring: the archive has none that checks"
        if plan.keyrings.isEmpty { findings.append(Finding(words, .keyring, isDamage: true)) }
      } else {
        findings = try verify(plan, newest, unlocking: credential, 1) { _, _ in true }.findings
      }
      findings = findings.filter(\.isDamage)
      guard findings.isEmpty else { return ([], findings) }
      // That took its time, and others may have shipped meanwhile.
      return (try ArchivePlan(archive).expired(before: time, newest, unlocking: credential), [])
    } catch {
      guard [.damaged, .notFound, .invalidArgument].contains(error.code) else { throw error }
      return ([], [Finding(error, .structure)])
    }
  }
}

extension ArchivePlan {
  /// Why nothing may be deleted; nothing where nothing stands against it.
  func alarm(now: UInt64) -> String? {
    let objects = branches.flatMap { $0.branch.segments.flatMap(\.objects) }
    return objects.first { $0.end.time > now }.map {
      "the time of '\($0.name)' lies ahead of the clock: nothing is expired"
    }
  }

  /// Where what is kept of a branch begins: the log segment, and the live set that it begins with.
  private struct Start {
    let branch: UInt32
    let number: UInt64
    let live: LiveSet

    /// Whether it, what is behind it, or what replaced anything since may need a compacted segment.
    func needs(_ header: SegmentHeader) -> Bool {
      header.branchPrefix == branch && UInt64(header.number) >= number
        || header.sources.contains { live[$0.segment] != nil }
    }
  }

  /// The objects that no moment from a time on needs, nor the newest.
  func expired(
    before time: UInt64, _ newest: ArchiveView, unlocking credential: Credential?
  ) throws(NotelogError) -> [String] {
    guard unreadable.isEmpty else {
      throw NotelogError(.damaged, "a branch can't be read: nothing is expired")
    }
    var starts: [Start] = []
    // Where no keyring fits a moment, all stay.
    var generation = credential == nil ? 0 : UInt64.max
    for (branch, _, _) in branches {
      let isNewest = branch.prefix == newest.moment.branch
      let later = branch.segments.firstIndex { $0.time >= time }
      // What there was at that time may be in the one before, and in no other.
      let first =
        later.map { max(0, $0 - 1) }
        ?? (isNewest ? branch.segments.firstIndex { $0.number >= newest.moment.lastSegment } : nil)
      guard let first else { continue }
      guard let reading = reading(of: branch.segments[first]),
        let begin = try? LogPoint(reading.found, while: { _, _ in false }).begin
      else {
        throw NotelogError(
          .damaged, "a segment of the log does not check: nothing is expired",
          segment: Int(branch.segments[first].number))
      }
      starts.append(Start(branch: branch.prefix, number: UInt64(reading.found.number), live: reading.live))
      guard credential != nil else { continue }
      let kept = revision(at: time - min(1, time), on: branch) ?? begin - 1
      for view in later == nil ? [newest] : [newest, try view(of: .revision(kept), on: branch.prefix)] {
        let (keyring, findings) = try chooseKeyring(of: view, unlocking: credential)
        generation = min(generation, findings.isEmpty ? keyring?.generation ?? 0 : 0)
      }
    }
    let needed = newest.objects
    func isKept(_ object: ArchivedObject) -> Bool {
      if needed.contains(object) { return true }
      if let entry = object.entry, starts.contains(where: { $0.live[entry.number] == entry }) { return true }
      switch object.kind {
      case .log, .piece:
        return starts.contains { $0.branch == object.end.branch && object.number >= $0.number }
      case .damaged:
        let isNeeded = starts.contains {
          object.number >= $0.number || $0.live[UInt32(object.number)]?.salt == object.salt
        }
        return isNeeded
          && !listing.objects.values.contains { whole in
            whole.entry != nil && (whole.number, whole.salt) == (object.number, object.salt)
              && whole.isSound(in: archive)
          }
      case .compacted:
        // What can't be read may be needed.
        guard let found = try? Survey.read(archive.open(object), UInt32(object.number)) else { return true }
        return starts.contains { $0.needs(found.header) }
      case .keyring: return object.number >= generation
      }
    }
    return (listing.objects.values + listing.cutShort).filter { !isKept($0) }.map(\.name).sorted()
  }
}
