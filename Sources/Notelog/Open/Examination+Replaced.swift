// Finds segments that compaction has left behind: FORMAT.md §24.

import NotelogFormat

extension Examination {
  /// Segments whose files are there although a live compacted segment has taken their place, by the number of that.
  var replaced: [UInt32: UInt32] {
    var replaced: [UInt32: UInt32] = [:]
    for segment in survey.segments.values
    where segment.header.kind == .compacted && live[segment.number] != nil {
      for source in segment.header.sources
      where survey.segments[source.segment] != nil && live[source.segment] == nil {
        replaced[source.segment] = segment.number
      }
    }
    return replaced
  }
}
