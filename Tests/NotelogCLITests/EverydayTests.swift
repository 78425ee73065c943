// What one does every day: other names of commands, values taken away, what was removed, names completed.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct EverydayTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `ls, rm, find and cat are other names, which help and completions know`() throws {
    let script = """
      id=$(notelog add my.notelog time=2026-11-26 title=Hello body=World $quick)
      notelog ls my.notelog --field title $quick | sed "s/$id/ID/"; notelog find my.notelog World -f body $quick | wc -l
      notelog cat my.notelog $id body $quick; echo
      notelog help rm | sed -n 3p; notelog rm --help | head -1; notelog help | grep -E '(ls|rm|find|cat) '
      notelog complete -- r | head -2; notelog complete -- ls --l | cut -f 1; notelog generate man | grep -c "Also called"
      notelog rm my.notelog $id $id $quick | sed "s/$id/ID/"; notelog rm my.notelog $id; echo $?
      """
    let out = """
      ID\tHello
      1
      World
      Remove records. Also called 'rm'.
      usage: notelog remove [OPTION]... STORE ID...
        get, cat              print a record, or one field of it as it is
        remove, rm            remove records
        list, ls              list the records of a collection
        search, find          list the records that hold a text
      remove\tremove records
      restore\tmake a store of an archive, as it was at any moment
      --limit
      4
      ID\t2026-11-26T00:00:00Z\tHello
      1

      """
    let answer = try bench.run(storePrelude + script)
    #expect(answer.out == out, "\(answer)")
    #expect(answer.err.hasPrefix("notelog: error: nothing was removed: there is no record "))
  }

  /// The bug: the lines of a text were shown as one, with `\n` in it, and times in UTC.
  @Test func `on a terminal a text has its lines, and times are local`() throws {
    let script = """
      id=$(printf 'a\\n  title  Fake\\033[31m\\nb' | notelog add my.notelog time=2026-11-26T10:00:00.5Z title=Hello body=- $quick)
      export TZ=XXX-2; for utc in "" --utc; do for field in "" time; do notelog cat my.notelog $id $field $utc $quick; done; done
      """
    let terminal = try PseudoTerminal(storePrelude + script, in: bench, environment: ["NO_COLOR": "1"])
    _ = terminal.finish()
    let shown = terminal.shown.replacing("\r\n", with: "\n").replacing(/[0-9a-f-]{36}/, with: "ID")
    func page(_ time: String) -> String {
      """
      note ID revision 2
        time   \(time)
        title  Hello
        body   a
                 title  Fake\\u{1B}[31m
               b
      \(time)

      """
    }
    #expect(shown == page("2026-11-26 12:00:00") + page("2026-11-26T10:00:00.5Z"))
  }

  @Test func `remove says what it removed, as far as the key given opens it`() throws {
    let script = """
      for title in a b c; do notelog add my.notelog time=2026-11-26 title=$title $quick >>ids; done
      set -- $(cat ids)
      notelog rm my.notelog $1 | cut -f2-; notelog rm my.notelog $2 --json | sed 's/"id":"[^"]*",//'
      notelog rm my.notelog $3 $quick | cut -f2-
      """
    let json =
      #"{"collection":"note","revision":3,"fields":{"time":"2026-11-26T00:00:00Z","title":{"sealed":41,"key":1}}}"#
    try bench.expect(
      storePrelude + script,
      .init(out: "2026-11-26T00:00:00Z\t\n\(json)\n2026-11-26T00:00:00Z\tc\n"))
  }

  @Test func `a value is taken away where it may be missing, and kept where it may not`() throws {
    try bench.write(
      "s.json",
      """
      {"collections":[{"name":"a","fields":[{"name":"stars","type":"integer","optional":true},{"name":"n","type":"integer"},
      {"name":"text","type":"text","optional":true,"sealed":true},{"name":"name","type":"text"}]}]}
      """)
    let script = """
      notelog init s --schema s.json $quick
      id=$(notelog add s stars=5 n=1 text=x name=y $quick)
      json() { notelog get s $id --json $quick | sed 's/.*"fields"://'; }
      notelog set s $id stars= $quick; json; notelog set s $id text= $quick; json; notelog set s $id --clear text name= $quick; json
      notelog set s $id stars=1 $quick; notelog set s $id --clear stars --clear text $quick; json
      for no in n= '--clear n' '--clear name' '--clear stars stars=1' '--clear nothing' ''; do notelog set s $id $no $quick; echo $?; done
      notelog add s n= stars= $quick; echo $?; json
      """
    let out = """
      {"stars":null,"n":1,"text":"x","name":"y"}}
      {"stars":null,"n":1,"text":"","name":"y"}}
      {"stars":null,"n":1,"text":null,"name":""}}
      {"stars":null,"n":1,"text":null,"name":""}}
      64
      64
      64
      64
      2
      64
      64
      {"stars":null,"n":1,"text":null,"name":""}}

      """
    let err = """
      notelog: error: 'n' is not optional: give it an integer value
      notelog: error: 'n' is not optional: give it an integer value
      notelog: error: 'name' is not optional: give it a text value
      notelog: error: stars is given twice
      notelog: error: 'a' has no field 'nothing'
      notelog: hint: its fields are: stars, n, text, name
      notelog: error: NAME=VALUE is missing
      notelog: hint: usage: notelog set [OPTION]... STORE ID [NAME=VALUE...]
      notelog: error: 'n' is not optional: give it an integer value

      """
    try bench.expect(storePrelude + script, .init(out: out, err: err))
  }

  @Test func `names that the store has are completed, and none that a shell could take for more`() throws {
    try bench.write(
      "s.json",
      """
      {"collections":[{"name":"person","fields":[{"name":"name","type":"text"},{"name":"$(touch x)","type":"text","optional":true},
      {"name":":files","type":"text","optional":true},{"name":"-f","type":"text","optional":true}]},
      {"name":"pet","fields":[{"name":"fur","type":"text","sealed":true,"key":"animals"}]}]}
      """)
    let script = """
      notelog init s --schema s.json $quick
      for line in 'list s p' 'list s --field ""' 'list s --sort f' 'add s pe' 'add s pet ""' 'get s ID ""' 'set s ID n' 'export s ""' 'key rotate s ""' 'get nothing ID ""'; do
        eval notelog complete -- $line | paste -sd ' '
      done
      """
    let out = "person pet\nfur name\nfur\nperson pet\nfur= name=\nfur name\nname=\nperson pet\n\n\n"
    try bench.expect(storePrelude + script, .init(out: out))
  }

  @Test func `names of keys are completed where the store is kept unlocked`() throws {
    let script = """
      export XDG_RUNTIME_DIR=$PWD/run; mkdir -m 700 run; trap 'notelog agent stop >/dev/null' EXIT
      notelog key add my.notelog animals $quick; notelog unlock my.notelog $quick >/dev/null
      notelog complete -- key rotate my.notelog '' | sort | paste -sd ' '
      """
    try bench.expect(storePrelude + script, .init(out: "animals default\n"))
  }

  @Test func `init says once what a lost password means, and how to have a recovery key`() throws {
    let terminal = try PseudoTerminal("notelog init my.notelog --scrypt-log-n 16", in: bench)
    try terminal.awaitText("new password: ")
    try terminal.type("open sesame\n")
    try terminal.awaitText("the same again: ")
    try terminal.type("open sesame\n")
    try terminal.awaitText("note: whoever loses the password loses what is sealed: nobody can bring it back")
    try terminal.awaitText("hint: 'notelog key recovery my.notelog' makes a recovery key")
    #expect(terminal.finish() == 0)
  }

  @Test func `the last password goes only after a yes, where something else opens the store`() throws {
    let script = """
      notelog password remove my.notelog $quick; echo $?
      notelog key recovery my.notelog $quick >recovery 2>/dev/null; chmod 600 recovery
      notelog password remove my.notelog $quick </dev/null; echo $?; notelog password remove my.notelog 0 $quick </dev/null; echo $?
      cp -r my.notelog other; notelog password remove other 1 $quick; echo $?
      notelog password remove my.notelog $quick --yes; notelog password remove my.notelog --recovery-file recovery; echo $?
      notelog info my.notelog | grep '^slot'
      """
    let asked = """
      notelog: note: it is the last password, and this is all that opens the store then: 1, recovery key
      notelog: error: without a terminal to ask, --yes goes on

      """
    let answer = try bench.run(passwordPrelude + script)
    #expect(answer.out == "2\n64\n64\n0\n2\nslot        1, recovery key\n", "\(answer)")
    #expect(answer.err.contains(asked + asked))
  }

  @Test func `shredding names what will be lost`() throws {
    let script = """
      printf '{"collections":[{"name":"a","fields":[{"name":"b","type":"text","sealed":true,"key":"gone"}]}]}' >s.json
      notelog init s --empty $quick; notelog key add s gone --shreddable $quick 2>/dev/null
      notelog key shred s gone $quick </dev/null 2>&1 | head -1
      """
    let out =
      "notelog: note: under 'gone': 0 values; nobody opens them again, here or in a copy of the store\n"
    try bench.expect(storePrelude + script, .init(out: out))
  }
}
