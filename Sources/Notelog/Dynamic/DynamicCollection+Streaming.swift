// A value of any length for a field that is known by its name.

import NotelogBase

extension DynamicCollection {
  /// Sets a sealed field of bytes of a record to a value that is never in memory as a whole. It is sealed as it comes, ahead of the
  /// record's update, as by `Store.upload`: don't call this inside a write closure.
  ///
  /// - Parameters:
  ///   - id: The record's id.
  ///   - name: The field: sealed, of bytes, neither padded nor compressed. Any other throws `invalidArgument`, and says why.
  ///   - values: The values of other fields, set with it.
  ///   - read: Fills a buffer from its start, and returns how many bytes it wrote; 0 at the value's end.
  /// - Throws: `notFound`, `locked`, `typeMismatch`, `invalidArgument`, `limitExceeded`, `conflict`, `full`, and what `read` throws.
  public func update(
    _ id: RecordID, streaming name: String, _ values: [String: DynamicValue] = [:],
    reading read: (inout MutableRawSpan) throws -> Int
  ) throws {
    var uploader = try Uploader(store, plan, plan.index(of: name), id)
    try uploader.append(reading: read)
    let content = try uploader.finish()
    // From its end on the uploader no longer keeps the value alive, and later the record does.
    defer { if let value = content.value { store.journal.endUpload(value) } }
    try store.write { tx in try tx.update(in: self, id, values, uploaded: (name, content)) }
  }
}
