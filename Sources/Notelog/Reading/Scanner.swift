// What one thread keeps while it goes through a collection.

import NotelogBase

/// A collection's plan, with memory to open values in.
///
/// Nothing in it depends on the record type: code that does, and is not compiled together with the app's, asks the
/// runtime for types at every step, which costs as much as opening a short value.
@usableFromInline
class Scanner {
  let plan: CollectionPlan
  let opener: FieldOpener
  /// There unless it is in use: a value that is opened while another is read gets memory of its own.
  @exclusivity(unchecked) private var spare: Opening?

  init(_ plan: CollectionPlan, _ opener: FieldOpener) {
    self.plan = plan
    self.opener = opener
  }

  /// Runs `body` with memory to open values in.
  final func withOpening<Result>(_ body: (inout Opening) throws -> Result) throws -> Result {
    // SAFETY: one thread uses a scanner, and no access to `spare` lasts longer than the line that takes it or puts it back: here
    // and below nothing runs meanwhile that could come upon it.
    var opening: Opening
    if let found = unsafe spare.take() { opening = found } else { opening = Opening() }
    let result: Result
    do { result = try body(&opening) } catch {
      unsafe spare = consume opening
      throw error
    }
    unsafe spare = consume opening
    return result
  }

  /// Opens a field, which was looked up, of a record.
  @usableFromInline
  final func open(_ field: FieldHandle, of record: ScannedRecord, _ use: (RawSpan) -> Void) throws {
    try withOpening { opening in
      if let renewed = try field.renewed() {
        try renewed.load(record.id, record.body, into: &opening)
      } else {
        try field.load(record.id, record.body, into: &opening)
      }
      use(opening.bytes)
      opening.wipe()
    }
  }

  /// Whether something holds for the bytes of a text field of a record: not for nil. nil where the record lacks the field.
  final func text(
    in index: Int, isOptional: Bool, of record: ScannedRecord, _ holds: (RawSpan) -> Bool
  ) throws -> Bool? {
    guard let entry = try record.body.find(plan.fields[index].number) else { return nil }
    return try withOpening { opening in
      try opening.open(entry, in: record.body.bytes, of: record.id, index, plan, opener) { bytes in
        guard isOptional else { return holds(bytes) }
        guard bytes.byteCount > 0, bytes.byte(at: 0) == 1 else { return false }
        return holds(bytes.extracting(droppingFirst: 1))
      }
    }
  }
}

/// The scanner of a record type's collection.
@usableFromInline
final class RecordScanner<R: Record>: Scanner {
  let reader: RecordReader<R>

  init(_ reader: RecordReader<R>) {
    self.reader = reader
    super.init(reader.plan.collection, reader.opener)
  }
}
