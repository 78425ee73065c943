// Which objects of an archive make a moment: FORMAT.md §26.

public import Foundation
import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// A moment of an archive.
public enum ArchiveMoment: Sendable {
  /// The last one that was shipped.
  case newest
  /// The store as it was after that transaction.
  case revision(UInt64)
  /// The store as it was then: with every transaction up to that time. Where the store keeps no times, those that were
  /// shipped by then.
  case time(Date)
}

/// Finds what makes moments of an archive.
struct ArchivePlan {
  typealias Segment = ArchiveListing.LogSegment
  typealias Part = ArchiveView.Part

  /// A segment of the log, read.
  struct Reading {
    let found: FoundSegment
    let parts: [Part]
    /// The live set that it begins with, and where its units do.
    let live: LiveSet
    let unitsStart: Int
    /// The object that it is, where that is whole and checks.
    let whole: ArchivedObject?
    /// Up to where all checks.
    let soundEnd: Int
    /// Objects that do not check, and were to have more of it.
    let unsound: [ArchivedObject]
  }

  let archive: any Archive
  let listing: ArchiveListing
  /// The sound keyrings, the newest first.
  let keyrings: [(name: String, keyring: Keyring)]
  /// The branches of which the beginning can be read, with their first sequence numbers and live sets.
  let branches: [(branch: ArchiveListing.LogBranch, first: UInt64, live: LiveSet)]
  /// The names of those of which it can't: what they hold is not known.
  let unreadable: [String]

  init(_ archive: any Archive) throws(NotelogError) {
    let archive = archive.openedOnce
    let listing = try ArchiveListing(archive)
    (self.archive, self.listing) = (archive, listing)
    keyrings = listing.all(.keyring).compactMap { object in
      object.keyring(in: archive).map { (object.name, $0) }
    }.filter { listing.stores.isEmpty || listing.stores.contains(ArchivedObject.store($0.1.storeID)) }
      .sorted { $0.1.generation > $1.1.generation }
    let all = listing.branches.map { ($0, Self.begin(of: $0, in: archive)) }
    branches = all.compactMap { branch, begin in begin.map { (branch, $0.first, $0.live) } }
    // What is shorter than a segment begins is garbage.
    unreadable = all.filter { branch, begin in
      let ends = branch.segments.flatMap(\.objects).map(\.range.upperBound)
      return begin == nil && ends.contains { $0 > Layout.firstFrameOffset }
    }.map { String(prefix: $0.0.prefix) }
  }

  /// The number of the first transaction of a branch that is there, or that its first segment would have, and the live
  /// set that this begins with.
  private static func begin(
    of branch: ArchiveListing.LogBranch, in archive: any Archive
  ) -> (first: UInt64, live: LiveSet)? {
    for object in branch.segments.flatMap(\.objects) where object.range.lowerBound == 0 {
      guard let found = try? Survey.read(archive.open(object), UInt32(object.number)),
        found.header.salt == object.salt, found.header.branchPrefix == branch.prefix,
        let point = try? LogPoint(found, while: { _, _ in false })
      else { continue }
      var reader = found.reader
      return (point.begin, (try? reader.liveSet(of: found.header))?.set ?? LiveSet())
    }
    return nil
  }

  // MARK: - What a segment of the log can be read from

  /// The ways in which a segment can be read, the better one first: what each takes is read only where it is asked for.
  func readings(of segment: Segment) -> some Sequence<Reading> {
    [whole, pieced].lazy.compactMap { $0(segment) }
  }

  /// The better way in which a segment can be read.
  func reading(of segment: Segment) -> Reading? { whole(segment) ?? pieced(segment) }

  private func whole(_ segment: Segment) -> Reading? {
    guard let object = segment.whole.first(where: { $0.isSound(in: archive) }) else { return nil }
    return read(segment, [.whole(object)], whole: object, soundEnd: object.byteCount)
  }

  /// By its pieces; behind the sound ones by what does not check, as far as that goes.
  private func pieced(_ segment: Segment) -> Reading? {
    let chain = segment.parts(in: archive)
    let unsound = chain.unsound + segment.whole.filter { !$0.isSound(in: archive) }
    let missed = unsound.filter { $0.range.upperBound > chain.end }
    let rest = missed.filter { $0.range.lowerBound <= chain.end }.max {
      $0.range.upperBound < $1.range.upperBound
    }
    let parts =
      chain.parts + (rest.map { [.object($0, chain.end - $0.range.lowerBound..<$0.byteCount)] } ?? [])
    return read(segment, parts, soundEnd: chain.end, unsound: missed)
  }

  private func read(
    _ segment: Segment, _ parts: [Part], whole: ArchivedObject? = nil, soundEnd: Int,
    unsound: [ArchivedObject] = []
  ) -> Reading? {
    let number = UInt32(segment.number)
    guard let file = try? archive.file(parts, name: FileName.segment(number)),
      let found = try? Survey.read(file, number), found.header.salt == segment.salt,
      found.header.branchPrefix == segment.branch
    else { return nil }
    var reader = found.reader
    guard let start = try? reader.liveSet(of: found.header) else { return nil }
    return Reading(
      found: found, parts: parts, live: start.set, unitsStart: start.end, whole: whole, soundEnd: soundEnd,
      unsound: unsound)
  }

  // MARK: - Finding a moment

  /// The branch and the revision that a moment is.
  ///
  /// - Parameters:
  ///   - moment: The moment.
  ///   - prefix: The branch; nil where it does not matter.
  /// - Returns: The branch, and the last transaction.
  /// - Throws: `notFound` where there is no such moment; `invalidArgument` where several branches have it.
  private func find(
    _ moment: ArchiveMoment, on prefix: UInt32?
  ) throws(NotelogError) -> (branch: ArchiveListing.LogBranch, revision: UInt64) {
    let found = branches.compactMap { branch, first, live in
      let revision = prefix ?? branch.prefix == branch.prefix ? revision(of: moment, on: branch, first) : nil
      return revision.map { (branch: branch, first: first, live: live, revision: $0) }
    }
    // One that another goes on from is a part of that one's past.
    let left = found.filter { one in
      let next = one.branch.nextSequence
      let ends = one.branch.segments.filter { $0.nextSequence == next }
      return !found.contains { other in
        guard other.branch.prefix != one.branch.prefix, next <= other.first else { return false }
        if ends.contains(where: { other.live[UInt32($0.number)]?.salt == $0.salt }) { return true }
        // Of two that have nothing of their own either is the other's end.
        let isMutual = other.branch.nextSequence <= one.first && other.branch.prefix > one.branch.prefix
        return next <= one.first && !isMutual
      }
    }
    guard let one = left.first else { throw NotelogError(.notFound, noMoment(prefix)) }
    guard left.count == 1, prefix != nil || unreadable.isEmpty else {
      let names = left.map { String(prefix: $0.branch.prefix) }.joined(separator: ", ")
      let words =
        unreadable.isEmpty
        ? "the archive has that moment on several branches"
        : "branch \(unreadable.joined(separator: ", ")) can't be read, and may have that moment"
      throw NotelogError(.invalidArgument, "\(words): choose \(names)")
    }
    return (one.branch, one.revision)
  }

  private func noMoment(_ prefix: UInt32?) -> String {
    if branches.isEmpty, unreadable.isEmpty { return "there is no store in the archive" }
    if let prefix, !branches.contains(where: { $0.branch.prefix == prefix }) {
      let name = String(prefix: prefix)
      return unreadable.contains(name) ? "branch \(name) can't be read" : "the archive has no branch \(name)"
    }
    let ends = branches.map { branch, first, _ in
      "branch \(String(prefix: branch.prefix)) has revisions \(first - 1) to \(branch.nextSequence - 1)"
    }
    return "the archive does not have that moment: " + ends.joined(separator: ", ")
  }

  /// The last transaction of a moment on a branch; nothing where the branch does not have it.
  private func revision(
    of moment: ArchiveMoment, on branch: ArchiveListing.LogBranch, _ first: UInt64
  ) -> UInt64? {
    switch moment {
    case .newest: return branch.nextSequence - 1
    case .revision(let revision):
      return revision < branch.nextSequence && revision + 1 >= first ? revision : nil
    case .time(let time): return self.revision(at: time.milliseconds, on: branch)
    }
  }

  /// The last transaction of a branch up to a time; nothing where there is none.
  func revision(at time: UInt64, on branch: ArchiveListing.LogBranch) -> UInt64? {
    let ends = branch.segments.flatMap(\.objects).map(\.end).filter { $0.time > 0 && $0.time <= time }
    var next = ends.map(\.nextSequence).max() ?? 0
    // Within a segment its commit marks tell, where there are times. A recovered segment may have what another lost.
    for segment in branch.segments.filter({ $0.time > time }).prefix(2) {
      for reading in readings(of: segment) where reading.found.header.branch.keepsTimes {
        guard let point = try? LogPoint(reading.found, while: { $1 <= time }), point.time > 0 else {
          continue
        }
        next = max(next, point.nextSequence)
      }
    }
    return next > 0 ? next - 1 : nil
  }

  // MARK: - A moment as a store

  /// A moment as a store.
  ///
  /// - Parameters:
  ///   - moment: The moment.
  ///   - prefix: The branch; nil where it does not matter.
  /// - Returns: The store. Of what is missing, or does not check, its findings speak; where the log itself is, it is
  ///   the last moment before that is there.
  /// - Throws: `notFound` where there is no such moment; `invalidArgument` where several branches have it; `damaged`
  ///   where nothing of the log is left.
  func view(of moment: ArchiveMoment, on prefix: UInt32? = nil) throws(NotelogError) -> ArchiveView {
    let (branch, revision) = try find(moment, on: prefix)
    let holding = branch.segments.filter { $0.nextSequence > revision }
    let before = branch.segments.filter { $0.nextSequence <= revision }
    // The end is in the newest, if anywhere; any other moment in the first, unless what it needs is lost.
    let isEnd = revision + 1 == branch.nextSequence
    var best: ArchiveView?
    for segment in isEnd ? holding.reversed() : holding {
      guard let view = try fromStorage(view(of: revision, in: segment, branch)) else { continue }
      if view.findings.isEmpty { return view }
      if best.map({ $0.moment.revision < view.moment.revision }) ?? true { best = view }
    }
    for segment in before.reversed() where best == nil {
      best = try fromStorage(view(of: revision, in: segment, branch))
    }
    guard let best else {
      throw NotelogError(.damaged, "nothing of the log is left in the archive; salvage what there is")
    }
    return best
  }

  /// A moment as a store, whose log ends in a segment; nothing where the segment begins behind it, or can't be read.
  private func view(
    of revision: UInt64, in segment: Segment, _ branch: ArchiveListing.LogBranch
  ) throws(StorageError) -> ArchiveView? {
    var best: (reading: Reading, point: LogPoint)?
    var unsound: [ArchivedObject] = []
    // By their bytes: names may say too much.
    for reading in readings(of: segment) {
      unsound += reading.unsound
      guard let point = try? LogPoint(reading.found, while: { sequence, _ in sequence <= revision }),
        point.begin <= revision + 1
      else { continue }
      if best.map({ $0.point.nextSequence < point.nextSequence }) ?? true { best = (reading, point) }
      if point.nextSequence > revision { break }
    }
    guard let (reading, point) = best else { return nil }
    let found = reading.found
    var live = reading.live
    if found.header.kind == .log {
      var walk = found.walk(from: reading.unitsStart, to: point.offset)
      try walk.applyLiveChanges(to: &live)
    }
    var findings: [Finding] = []
    // Numbers may have been left out between two transactions.
    var next = point.nextSequence
    if next <= revision { next = max(next, try LogPoint(found, to: reading.soundEnd).nextSequence) }
    if next <= revision {
      let words = "revisions \(next) to \(revision) are missing in the archive"
      findings.append(Finding(words, .structure, isDamage: true))
    }
    // At the end, what was cut short may have more.
    let cutShort = listing.cutShort.filter {
      $0.end.branch == segment.branch && $0.end.nextSequence > branch.nextSequence
    }
    if revision + 1 == branch.nextSequence { unsound += cutShort }
    // What is taken although it does not check, and what is missed.
    for object in unsound
    where cutShort.contains(object) || next <= revision
      || reading.parts.contains(where: { $0.object == object })
    {
      findings.append(Finding(.archiveObject, in: object.name, segment: UInt32(object.number)))
    }
    findings += try otherHistories(in: [segment])
    var segments: [UInt32: [Part]] = [:]
    for entry in live.entries {
      let wholes = listing.whole(entry)
      if let object = wholes.count > 1 ? wholes.first(where: { $0.isSound(in: archive) }) : wholes.first {
        segments[entry.number] = [.whole(object)]
        continue
      }
      findings.append(Finding(.missingSegment, in: ArchivedObject(entry, nil).name, segment: entry.number))
      let damaged = listing.all(.damaged).first { $0.number == UInt64(entry.number) && $0.salt == entry.salt }
      if let object = damaged ?? listing.cutShort(entry) { segments[entry.number] = [.whole(object)] }
    }
    if let whole = reading.whole?.entry, point.offset == found.trailer?.footerOffset {
      live.insert(whole)
      segments[found.number] = reading.parts
    } else {
      let (entry, parts) = try cut(reading, at: point)
      live.insert(entry)
      segments[found.number] = parts
    }
    appendHead(behind: found.header, live, point.nextSequence, to: &segments)
    let last = min(point.nextSequence - 1, revision)
    let time = found.header.branch.keepsTimes ? point.time : branch.time(0, before: last + 1, now: .max)
    return ArchiveView(
      archive,
      .init(branch: found.header.branchPrefix, revision: last, time: time, lastSegment: segment.number),
      findings: findings, segments: segments)
  }

  /// What is of another history than the segments as they are read: two copies of the store were carried here.
  func otherHistories(in segments: [Segment]) throws(StorageError) -> [Finding] {
    var others: [ArchivedObject] = []
    for (segment, next) in zip(segments, segments.dropFirst()) where segment.number == next.number {
      others += next.objects
    }
    for segment in segments {
      guard let reading = reading(of: segment) else { continue }
      let end = reading.found.trailer?.footerOffset ?? reading.found.byteCount
      others += try segment.differing(from: reading.found, to: end, in: archive).filter(\.isOtherHistory).map(
        \.piece)
    }
    return others.map { Finding(.partedFromArchive, in: $0.name, segment: UInt32($0.number)) }
  }

  /// The same of a moment's whole branch.
  func otherHistories(of view: ArchiveView) throws(NotelogError) -> [Finding] {
    let branch = branches.first { $0.branch.prefix == view.moment.branch }?.branch
    return try fromStorage(otherHistories(in: branch?.segments ?? []))
  }

  /// A segment that ends behind a unit, and how a live set names it.
  private func cut(_ reading: Reading, at point: LogPoint) throws(StorageError) -> (LiveEntry, [Part]) {
    var header = reading.found.header
    if header.kind == .recovered {
      header.floor = LogPosition(segment: header.number, offset: point.offset)
      header.firstSequence = point.nextSequence
    }
    let footer = try FooterBuilder(
      framesOf: reading.found.file, salt: reading.found.salt, to: point.offset)
    var end: [UInt8] = []
    let entry = footer.finish(at: point.offset, header: header) { end += $0.array() }
    var start = Buffer()
    start.appendZeros(Layout.firstFrameOffset)
    var bytes = start.mutableBytes
    header.write(into: &bytes, at: 0)
    header.write(into: &bytes, at: Layout.headerCopyOffset)
    let frames = Self.slice(reading.parts, Layout.firstFrameOffset..<point.offset)
    return (entry, [.bytes(start.bytes.array())] + frames + [.bytes(end)])
  }

  /// Some of the bytes of parts that stand one behind the other.
  private static func slice(_ parts: [Part], _ range: Range<Int>) -> [Part] {
    var start = 0
    return parts.compactMap { part in
      guard case .object(let object, let bytes) = part else { return nil }
      defer { start += bytes.count }
      let kept = range.clamped(to: start..<start + bytes.count)
      let offset = bytes.lowerBound - start
      return kept.isEmpty ? nil : .object(object, kept.lowerBound + offset..<kept.upperBound + offset)
    }
  }

  /// Begins a branch behind the last segment, with nothing in it yet.
  private func appendHead(
    behind last: SegmentHeader, _ live: LiveSet, _ next: UInt64, to segments: inout [UInt32: [Part]]
  ) {
    let options = JournalOptions()
    let named = live.entries.map(\.number) + last.sources.map(\.segment) + [last.number]
    // Beyond the last number there is none: then the store says so when it is opened.
    let number = min((named.max() ?? 0) + 1, UInt32(FormatLimits.maximumSegmentNumber))
    var branch = last.branch
    branch.id = ID16(low: options.random(), high: options.random())
    let header = SegmentHeader(
      .log, number: number, storeID: last.storeID, branch: branch, salt: options.random(),
      firstSequence: next, floor: LogPosition(segment: number, offset: Layout.firstFrameOffset), live: live)
    segments[number] = [.bytes(header.start(live: live).bytes.array())]
  }
}

extension ArchiveListing.LogSegment {
  /// The sound pieces, one behind the other, as what a file consists of; and which ones do not check.
  func parts(
    in archive: any Archive
  ) -> (parts: [ArchiveView.Part], end: Int, unsound: [ArchivedObject]) {
    var (parts, end, unsound) = ([ArchiveView.Part](), 0, [ArchivedObject]())
    let chain = chain { piece in
      if piece.isSound(in: archive) { return true }
      unsound.append(piece)
      return false
    }
    for piece in chain {
      parts.append(.object(piece, end - piece.range.lowerBound..<piece.byteCount))
      end = piece.range.upperBound
    }
    return (parts, end, unsound)
  }

  /// The pieces whose bytes are others than those of the segment, which is whole; and of which of them that is another
  /// history. One that was damaged when it was put is none.
  func differing(
    from found: FoundSegment, to end: Int, in archive: any Archive
  ) throws(StorageError) -> [(piece: ArchivedObject, isOtherHistory: Bool)] {
    var differing: [(piece: ArchivedObject, isOtherHistory: Bool)] = []
    for piece in pieces {
      // A recovery may have cut what is finished now.
      if found.trailer != nil, piece.range.upperBound > end { continue }
      if piece.range.upperBound <= end, try Checksum.of(found.file, piece.range).value == piece.checksum {
        continue
      }
      var isWhole = false
      if piece.isSound(in: archive), piece.range.lowerBound <= end {
        let file = SplicedFile(
          [(found.file, 0..<piece.range.lowerBound), (try archive.open(piece), 0..<piece.byteCount)], name: ""
        )
        isWhole = try Survey.read(file, found.number)?.areUnits(piece.range) ?? false
      }
      differing.append((piece, isWhole))
    }
    return differing
  }
}

extension FoundSegment {
  /// Whether a range, which begins with the file or with a unit, is whole.
  func areUnits(_ range: Range<Int>) throws(StorageError) -> Bool {
    guard badCopies.isEmpty else { return false }
    var place = range.lowerBound
    if place < Layout.firstFrameOffset {
      var reader = reader
      guard let start = try reader.liveSet(of: header) else { return false }
      place = start.end
    }
    var walk = walk(from: place, to: range.upperBound)
    while walk.next < range.upperBound {
      switch try walk.unit() {
      case .transaction, .close: continue
      case .footer, .none, .broken: return false
      }
    }
    return true
  }
}

extension Date {
  /// As names and commit marks have it.
  var milliseconds: UInt64 {
    // The nearest: a time that came from a mark is that mark's again.
    UInt64(exactly: (max(0, timeIntervalSince1970) * 1000).rounded()) ?? .max
  }
}
