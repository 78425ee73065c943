// Values of fields that the schema no longer has, or does not know: shown for what they are, and no damage.
@testable import NotelogBase
import Foundation
@testable import Notelog
import Testing

private struct Before: Record {
  var id = RecordID()
  var title = ""
  var colour = ""
  static let schema = Schema<Before>("thing") {
    Plain("title", \.title)
    Plain("colour", \.colour)
  }
}

private struct After: Record {
  var id = RecordID()
  var title = ""
  static let schema = Schema<After>("thing") {
    Plain("title", \.title)
    Retired("colour")
  }
}

@Suite struct UnusedFieldTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private func open() throws -> Store {
    try Store.open(at: bench.folder.path + "/my.notelog", unlocking: .password("open sesame"))
  }

  private func expect(_ script: String, _ out: String) throws {
    try bench.expect("quick='--password-file password'\n" + script, .init(out: out))
  }

  private static let id = RecordID(ID16(low: 0, high: (1 << 20 | 1 as UInt64).byteSwapped))

  /// The bug: FORMAT.md 9.2 says that such a value is no damage, and dump said that there is no such field,
  /// and exited 3.
  @Test func `a field that the schema does not know is shown as that, and is no damage`() throws {
    _ = try bench.run(passwordPrelude)
    let store = try open()
    try store.putAll([After(title: "kept")])
    let collection = try store.collection("thing").plan.number
    // One plain field of text, with a number that the schema has not given out yet.
    let body: [UInt8] = [1, 0, 1, 0] + [7, 0, 5, 0, 0, 0, 0, 0, 3, 0, 0, 0] + Array("new".utf8)
    var batch = Batch()
    batch.put(Self.id.bytes, collection: collection, envelopeByteCount: 0, bodyByteCount: body.count) {
      $0.copy(body.rawSpan, at: 0)
    }
    _ = try store.journal.commit(&batch, .durable)
    try store.close()
    let script = """
      id=00000000-0000-0000-0000-000000100001
      notelog get my.notelog $id $quick | tail -n +2; echo $?
      notelog dump my.notelog $quick | grep new; notelog dump my.notelog >out; echo $?; grep 'field 7' out
      notelog dump my.notelog --json | grep -o '"fields":{.*"field 7".*'
      notelog list my.notelog thing >/dev/null; echo $?
      notelog verify my.notelog $quick | grep verdict
      """
    let expected = """
        field 7  3 bytes, not in the schema
      0
      0
        field 7  3 bytes, not in the schema
      "fields":{"title":null,"field 7":{"unknown":3}}}
      0
      verdict    sound

      """
    try expect(script, expected)
  }

  @Test func `a value of a field that was retired is shown as that, until the next update drops it`() throws {
    _ = try bench.run(passwordPrelude)
    let store = try open()
    try store.putAll([Before(id: Self.id, title: "a", colour: "red")])
    try store.putAll([After(title: "b")])
    try store.close()
    let script = """
      id=00000000-0000-0000-0000-000000100001
      notelog dump my.notelog >out; echo $?; grep 'field 2' out
      notelog get my.notelog $id --json | grep -o '"fields":.*'
      notelog set my.notelog $id title=c $quick; notelog dump my.notelog | grep -c 'field 2' || :
      """
    let expected = """
      0
        field 2  3 bytes, not in the schema
      "fields":{"title":"a","field 2":{"unknown":3}}}
      0

      """
    try expect(script, expected)
  }
}
