// What is said of keys that the keyring lacks, and of a keyring that lost what was added to it.
import Foundation
import Notelog
import Testing

@Suite struct LackedKeyTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `values under a key that was shredded are no damage`() throws {
    var options = Store.Options()
    options.passwordWork = 14
    let path = bench.folder.appending(path: "my.notelog").path
    let store = try Store.create(at: path, unlocking: .password("open sesame"), options: options)
    try store.createKey("gone", .whenUnlocked, isShreddable: true)
    try store.createKey("pins", .whenUnlocked)
    let people = try store.createCollection(
      "person",
      fields: [
        .plain("name", .text), .sealed("pin", .text, key: "pins"),
        .sealed("note", .text, key: "gone", optional: true),
      ])
    for name in ["Ada", "Bob"] {
      try people.add(["name": .text(name), "pin": .text("1"), "note": .text("2")])
    }
    try store.close()
    let script = """
      printf 'open sesame\\n' >password; quick="--password-file password"
      notelog key shred my.notelog gone $quick --yes 2>/dev/null || notelog key shred my.notelog gone $quick
      notelog dump my.notelog --unlock $quick >/dev/null; echo $?
      notelog key add my.notelog more $quick >/dev/null 2>&1
      rm my.notelog/keyring.copy
      notelog info my.notelog | grep '^keyring'
      """
    let answer = try bench.run(script)
    #expect(answer.out == "0\nkeyring     keyring.copy is missing\n", "\(answer.err)")
  }

  /// The bug: one bit of what was added to the only keyring, and every command said that all was well, with values that nobody can open.
  @Test func `a keyring that lost what was added to it is called damaged, and values under its keys too`()
    throws
  {
    var options = Store.Options()
    options.passwordWork = 14
    let path = bench.folder.appending(path: "my.notelog").path
    let store = try Store.create(at: path, unlocking: .password("open sesame"), options: options)
    let byteCount = try Data(contentsOf: URL(filePath: path + "/keyring")).count
    try store.createKey("pins", .whenUnlocked)
    let people = try store.createCollection(
      "person", fields: [.plain("name", .text), .sealed("pin", .text, key: "pins")])
    for name in ["Ada", "Bob"] { try people.add(["name": .text(name), "pin": .text("1")]) }
    try store.close()
    #expect(try Data(contentsOf: URL(filePath: path + "/keyring")).count > byteCount)
    let script = """
      printf 'open sesame\\n' >password; quick="--password-file password"
      printf 'X' | dd of=my.notelog/keyring bs=1 seek=\(byteCount + 20) conv=notrunc status=none
      notelog dump my.notelog --unlock $quick >/dev/null && echo served
      rm my.notelog/keyring.copy
      notelog info my.notelog | grep '^keyring'
      notelog verify my.notelog | grep -E '^(finding    keyring|verdict)'
      for command in "dump my.notelog --unlock" "list my.notelog" "export my.notelog --as jsonl"; do
        notelog $command $quick >out 2>err; echo $? $(grep -c Ada out); cat err
      done
      """
    let out = """
      served
      keyring     keyring.copy is missing, and what was added to the other last does not check
      finding    keyring: keyring.copy is missing, and what was added to the other last does not check
      verdict    damaged
      3 1
      notelog: error: 2 values can't be opened: the keyring lacks key 1, under which they were sealed
      3 1
      notelog: error: 2 values can't be opened: the keyring lacks key 1, under which they were sealed
      3 1
      notelog: error: 2 values can't be opened: the keyring lacks key 1, under which they were sealed

      """
    try bench.expect(script, .init(out: out), input: "")
  }
}
