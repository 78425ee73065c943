// Notes what the medium does not give: FORMAT.md §12.3.

import NotelogFormat

extension Examination {
  /// Notes what the medium did not give. Behind the break it may have held transactions that were committed.
  mutating func noteUnreadable() {
    for segment in survey.segments.values.sorted(by: { $0.number < $1.number }) {
      for damage in segment.unreadableDamages {
        report.damages.append(damage)
        let last = LogPosition(segment: segment.number, offset: damage.range.upperBound)
        let isLog = segment.header.kind.isLog && !gone.contains(segment.number)
        if isLog, last > end, !report.wasClosed || appendable != nil { noteUnnamedLoss(in: segment.number) }
      }
    }
  }
}
