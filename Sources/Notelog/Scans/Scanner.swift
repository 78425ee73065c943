// What one thread keeps while it goes through a collection.

/// A record type's reader, with memory to open values in.
final class Scanner<R: Record> {
  let reader: RecordReader<R>
  /// There unless it is in use: a value that is opened while another is read gets memory of its own.
  private var spare: Opening?
  private var lastSlot: (path: ObjectIdentifier, slot: Int)?

  init(_ reader: RecordReader<R>) { self.reader = reader }

  /// Runs `body` with memory to open values in.
  func withOpening<Result>(_ body: (inout Opening) throws -> Result) throws -> Result {
    var opening: Opening
    if let found = spare.take() { opening = found } else { opening = Opening() }
    let result: Result
    do { result = try body(&opening) } catch {
      spare = consume opening
      throw error
    }
    spare = consume opening
    return result
  }

  /// The slot of a property: the one asked for last is remembered.
  func slot(of path: PartialKeyPath<R>) throws(NotelogError) -> Int {
    let identity = ObjectIdentifier(path)
    if let lastSlot, lastSlot.path == identity { return lastSlot.slot }
    let slot = try reader.plan.slot(of: path)
    lastSlot = (identity, slot)
    return slot
  }
}
