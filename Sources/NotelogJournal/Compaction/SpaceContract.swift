// How much space a store may take: FORMAT.md §13, "Space".

/// The space contract, and where a store stands.
///
/// At most 1.5 × the live bytes and two segments, at any time. Compaction is due well before that; its output may take
/// one segment while it is written, so writers wait when that room is all that is left.
struct SpaceContract {
  /// The bytes of all segment files, compaction's output among them, but for what can't be helped.
  let byteCount: Int
  let liveByteCount: Int
  /// The size of a segment.
  let aim: Int

  var bound: Int { liveByteCount + liveByteCount / 2 + 2 * aim }
  /// Whether compaction should begin.
  var isDue: Bool { byteCount > liveByteCount + liveByteCount / 4 + aim }
  /// Whether writers must wait for it.
  var isNearBound: Bool { byteCount > bound - aim - aim / 4 }
}
