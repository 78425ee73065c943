// Which segments to compact, and in which order: benefit × age ÷ cost. FORMAT.md §24.

import NotelogFormat

/// A segment that compaction might replace.
struct CompactionCandidate {
  let segment: Segment
  let byteCount: Int
  let liveByteCount: Int
  /// How many transactions came since the youngest frame in it.
  let age: UInt64

  var freedByteCount: Int { max(0, byteCount - Self.overheadByteCount - liveByteCount) }

  /// What a compacted segment takes beside its live bytes, at most.
  static let overheadByteCount = Layout.firstFrameOffset + FooterBuilder().byteCount + 8

  /// What is gained by compacting it, weighed with how long that is likely to last, for what it costs to read and
  /// write. What changes often is better left until more of it is dead.
  var score: Double {
    Double(freedByteCount) * Double(age) / Double(byteCount + liveByteCount)
  }

  /// Whether so much of it is dead that a copy is worth it.
  func isWorthCopying(_ share: CompactionShare) -> Bool { freedByteCount * share.rawValue > byteCount }
}

/// How much of a segment must be dead, as one part in so many, for its copy to be worth it.
enum CompactionShare: Int {
  /// As small as it gets: well within what the space contract leaves.
  case onDemand = 40
  /// Whatever is dead, however little.
  case purge = 0x8000_0000
  /// What keeps the contract, and no more than that.
  case automatic = 8

  /// How large a part of what is copied tombstones must be, as one part in so many, for looking through the footers of
  /// all other segments for what they delete to be worth it.
  var tombstoneShare: Int {
    switch self {
    case .onDemand, .purge: .max
    case .automatic: 20
    }
  }
}

/// Segments worth compacting, best first, in groups of which each fills one segment.
struct CompactionPlan {
  private(set) var groups: [[CompactionCandidate]] = []

  /// Groups the candidates; `aim` is the size of a segment.
  init(_ candidates: [CompactionCandidate], aim: Int, share: CompactionShare) {
    let worthwhile = candidates.filter { $0.isWorthCopying(share) }.sorted { $0.score > $1.score }
    // Small segments without anything dead in them are joined with whatever is copied.
    let small = candidates.filter { !$0.isWorthCopying(share) && $0.byteCount < aim / 2 }
    var group: [CompactionCandidate] = []
    var outputByteCount = CompactionCandidate.overheadByteCount
    for candidate in worthwhile + small {
      let isFull =
        outputByteCount + candidate.liveByteCount > aim || group.count == FormatLimits.maximumSources
      if !group.isEmpty, isFull {
        groups.append(group)
        group = []
        outputByteCount = CompactionCandidate.overheadByteCount
      }
      group.append(candidate)
      outputByteCount += candidate.liveByteCount
    }
    if !group.isEmpty { groups.append(group) }
    // One small segment alone is as good as its copy.
    groups.removeAll { group in group.count == 1 && !group[0].isWorthCopying(share) }
  }

  /// Each by itself, those with the least to copy first: where there is hardly room for anything.
  init(singly candidates: [CompactionCandidate], share: CompactionShare) {
    groups = candidates.filter { $0.isWorthCopying(share) }.sorted { $0.liveByteCount < $1.liveByteCount }
      .map { [$0] }
  }

  var estimate: CompactionForecast {
    var estimate = CompactionForecast()
    for group in groups {
      estimate.segments += group.map { Int($0.segment.number) }
      estimate.copiedByteCount += group.reduce(0) { $0 + $1.liveByteCount }
      // The overheads of all but one go too.
      estimate.freedByteCount +=
        group.reduce(0) { $0 + $1.freedByteCount }
        + (group.count - 1) * CompactionCandidate.overheadByteCount
    }
    estimate.segments.sort()
    return estimate
  }
}
