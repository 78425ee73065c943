// `verify`: what it reports and exits 0 for, what is damage, and that it never writes.
import Foundation
import Testing

@Suite struct VerifyTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Verifies, shows what it exits with and says of the parts, and sees to it that nothing changed.
  static let prelude =
    storePrelude + """
      notelog add my.notelog title=Hello body=Body $quick >/dev/null
      check() {
        cp -r my.notelog before
        notelog verify my.notelog "$@" >found 2>/dev/null; echo $?
        grep -E '^(torn|finding|verdict)|damaged' found | sed -E 's/[0-9]+ bytes/N bytes/; s/offset [0-9]+/offset N/'
        diff -r my.notelog before || echo changed
        rm -r before
      }

      """

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(Self.prelude + script, expected, input: "", location)
  }

  @Test func `a torn tail is reported and exits 0`() throws {
    let script = """
      printf 'what a crash may leave' >>my.notelog/000000000001.journal
      check
      """
    let expected = """
      0
      torn       N bytes behind what is known to be durable, as a crash leaves them
      verdict    sound

      """
    try expect(script, .init(out: expected))
  }

  @Test func `an older keyring copy is reported and exits 0, a damaged one exits 1`() throws {
    let script = """
      cp my.notelog/keyring.copy old
      notelog key add my.notelog another $quick
      cp old my.notelog/keyring.copy; check
      printf X | dd of=my.notelog/keyring.copy bs=1 seek=70 conv=notrunc status=none; check $quick
      cp my.notelog/keyring.copy my.notelog/keyring; check
      """
    let expected = """
      0
      finding    keyring: sound, keyring.copy is older
      verdict    sound
      1
      keyring    damaged
      finding    keyring: keyring.copy is unreadable
      verdict    damaged
      1
      keyring    damaged
      finding    reading the keyring: the keyring is damaged (digest); restore it from a backup
      verdict    damaged

      """
    try expect(script, .init(out: expected))
  }

  @Test func `an index that does not check is damage, and none at all is not`() throws {
    let script = """
      rm -f my.notelog/index; check
      echo 'no index' >my.notelog/index; check
      notelog list my.notelog $quick | wc -l
      """
    let expected = """
      0
      verdict    sound
      1
      index      damaged
      finding    index: does not check; it is built anew
      verdict    damaged
      1

      """
    try expect(script, .init(out: expected))
  }

  @Test func `JSON says the same, part by part`() throws {
    let script = """
      parts() { notelog verify my.notelog --json "$@" | grep -o '"condition":"[a-z]*","parts":{[^}]*}'; }
      parts; parts $quick
      printf X | dd of=my.notelog/keyring bs=1 seek=70 conv=notrunc status=none; parts
      """
    let expected = """
      "condition":"sound","parts":{"structure":"sound","index":"sound","keyring":"sound","records":"sound","tags":"unchecked"}
      "condition":"sound","parts":{"structure":"sound","index":"sound","keyring":"sound","records":"sound","tags":"sound"}
      "condition":"damaged","parts":{"structure":"sound","index":"sound","keyring":"damaged","records":"sound","tags":"unchecked"}

      """
    try expect(script, .init(out: expected))
  }
}
