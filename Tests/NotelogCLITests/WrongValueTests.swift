// Values that are none of their type, as other programs may have stored them: said, and not printed.
import Foundation
import Notelog
import NotelogBase
import Testing

/// Bytes that claim to be text, or JSON.
private struct Claim<Kind: StoredValue>: StoredValue {
  static var fieldType: FieldType { Kind.fieldType }
  var bytes: [UInt8]
  var _storedByteCount: Int { bytes.count }
  func _store(into target: inout MutableRawSpan) { target.copy(bytes.rawSpan) }
  init(_ bytes: [UInt8]) { self.bytes = bytes }
  init(_loading span: RawSpan) throws { self.init(span.array()) }
}

private struct WrongPage: Record {
  var id = RecordID()
  var text = Claim<String>([])
  var document = Claim<EncodedJSON>([])
  static let schema = Schema<WrongPage>("page") {
    Sealed("text", \.text)
    Sealed("document", \.document)
  }
}

@Suite struct WrongValueTests {
  /// The bug: a sealed field went to a pipe as the bytes that it has.
  @Test func `a field that is no text or JSON is not printed, to a pipe neither`() throws {
    let bench = try Workbench()
    var options = Store.Options()
    options.passwordWork = 14
    let store = try Store.create(
      at: bench.folder.path + "/s", unlocking: .password("open sesame"), options: options)
    let broken = WrongPage(text: Claim([0x61, 0xC3, 0x28]), document: Claim(Array(#"{"a":1,}"#.utf8)))
    let sound = WrongPage(text: Claim(Array("text".utf8)), document: Claim(Array(#"{"a":1}"#.utf8)))
    try store.putAll([broken, sound])
    try store.close()
    let script = """
      printf 'open sesame\\n' >password
      for field in text document; do
        notelog get s \(sound.id) $field --password-file password; echo
        notelog get s \(broken.id) $field --password-file password >got 2>err; echo "$? $(wc -l <err) $(wc -c <got)"
      done
      notelog set s \(sound.id) 'document={"a":1,}' --password-file password 2>/dev/null; echo $?
      printf '\\357\\273\\277{}' | notelog set s \(sound.id) document=- --password-file password 2>/dev/null; echo $?
      """
    try bench.expect(script, .init(out: "text\n3 2 0\n{\"a\":1}\n3 2 0\n64\n64\n"))
  }
}
