// Records' bodies, for tests of whoever reads them.

@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport

/// A line of a directory, and its value.
struct BodyLine {
  var number: UInt16
  var type: FieldType
  var flags: FieldFlags = []
  var key: UInt32 = 0
  var value: [UInt8]
}

/// A record's body with these lines.
func recordBody(_ lines: [BodyLine]) -> [UInt8] {
  let size = DirectoryWriter.byteCount(fieldCount: lines.count) + lines.reduce(0) { $0 + $1.value.count }
  var bytes = [UInt8](repeating: 0, count: size)
  bytes.withBytes(in: 0..<size) { span in
    var writer = DirectoryWriter(fieldCount: lines.count, into: &span)
    for line in lines {
      let entry = FieldEntry(
        number: line.number, type: line.type, flags: line.flags, keyReference: line.key,
        range: 0..<line.value.count)
      let range = writer.add(entry, into: &span)
      span.copy(line.value.rawSpan, at: range.lowerBound)
    }
  }
  return bytes
}

extension OwnedRecord {
  init(id: RecordID, revision: UInt64, collection: UInt16, copying body: RawSpan) throws(NotelogError) {
    let record = StoredRecord(
      id: id.bytes, collection: collection, revision: revision, isPossiblyStale: false)
    try self.init(record, copying: body)
  }
}
