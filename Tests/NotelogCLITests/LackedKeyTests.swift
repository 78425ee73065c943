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
    // The bug: verification called them damage, and exports left them out without a word.
    let script = """
      printf 'open sesame\\n' >password; quick="--password-file password"
      notelog backup my.notelog backup >/dev/null 2>&1
      notelog key shred my.notelog gone $quick --yes 2>/dev/null
      for key in "$quick" ""; do notelog verify my.notelog $key >out; echo $?; grep -E '^(shredded|verdict)' out; done
      for store in my.notelog back; do
        for command in "dump $store --unlock" "list $store -f note" "export $store --as csv" "export $store --as jsonl"; do
          notelog $command $quick 2>&1 >out; echo $? $(wc -l <out)
        done
        [ -e back ] || notelog restore backup back 2>/dev/null | cut -d " " -f 1
      done
      notelog verify back $quick | grep -E '^(shredded|verdict)'
      notelog key list my.notelog $quick | grep gone
      notelog key add my.notelog more $quick >/dev/null 2>&1
      rm my.notelog/keyring.copy
      notelog info my.notelog 2>/dev/null | grep '^keyring'
      """
    func said(_ kind: String, _ reason: String) -> String {
      "notelog: \(kind): 2 values can't be opened: key 1 \(reason)\n"
    }
    let (shredded, missing) = (
      "was shredded", "can't be had without its effaceable file, which backups leave out"
    )
    let out =
      """
      0
      shredded   2 values under keys that were shredded, or whose effaceable file is not here
      verdict    sound
      0
      shredded   2 values under keys that were shredded, or whose effaceable file is not here
      verdict    sound

      """
      + [shredded, missing].enumerated().map { place, reason in
        said("note", reason) + "0 8\n" + said("note", reason) + "0 2\n" + said("error", reason) + "3 3\n"
          + said("error", reason) + "3 2\n" + (place == 0 ? "restored\n" : "")
      }.joined() + """
        shredded   2 values under keys that were shredded, or whose effaceable file is not here
        verdict    sound
        0  whenUnlocked  2 values, shredded  gone
        keyring     keyring.copy is missing

        """
    try bench.expect(script, .init(out: out), input: "")
  }

  /// The bug: with an earlier keyring every command said that all was well, with values that nobody can open.
  @Test func `values under keys that an earlier keyring lacks are called damaged`()
    throws
  {
    var options = Store.Options()
    options.passwordWork = 14
    let path = bench.folder.appending(path: "my.notelog").path
    let store = try Store.create(at: path, unlocking: .password("open sesame"), options: options)
    let earlier = try Data(contentsOf: URL(filePath: path + "/keyring"))
    try store.createKey("pins", .whenUnlocked)
    let people = try store.createCollection(
      "person", fields: [.plain("name", .text), .sealed("pin", .text, key: "pins")])
    for name in ["Ada", "Bob"] { try people.add(["name": .text(name), "pin": .text("1")]) }
    try store.close()
    for name in ["/keyring", "/keyring.copy"] { try earlier.write(to: URL(filePath: path + name)) }
    let script = """
      printf 'open sesame\\n' >password; quick="--password-file password"
      notelog verify my.notelog $quick 2>/dev/null | grep -E '^verdict'
      for command in "dump my.notelog --unlock" "list my.notelog -f name -f pin" "export my.notelog --as jsonl"; do
        notelog $command $quick >out 2>err; echo $? $(grep -c Ada out); cat err
      done
      """
    let out = """
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
