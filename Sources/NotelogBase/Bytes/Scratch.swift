// A few bytes on the stack to read into.

// Public for the optimiser alone (docs/decisions/0076).

/// Calls `body` with 48 zeroed bytes: room for a frame's header and the beginning of its envelope.
@inlinable
@inline(__always)
public func withScratch<Result, Failure: Error>(
  _ body: (inout MutableRawSpan) throws(Failure) -> Result
) throws(Failure) -> Result {
  var bytes = InlineArray<6, UInt64>(repeating: 0)
  var words = bytes.mutableSpan
  // SAFETY: integers may hold any bit pattern.
  var raw = unsafe words.mutableBytes
  return try body(&raw)
}
