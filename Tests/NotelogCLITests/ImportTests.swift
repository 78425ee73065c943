// `import`: what it takes, what it refuses, and that nothing is lost when it stops.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct ImportTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(
    _ script: String, _ expected: Workbench.Answer, input: String = "",
    _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(storePrelude + script, expected, input: input, location)
  }

  @Test func `a dump imported into a new store gives the same dump`() throws {
    let script = """
      for i in $(seq 20); do echo '{"fields":{"time":"2026-01-01T00:00:00.'$i'Z","title":"t'$i'","body":"\\u0000\\ud83d\\ude42"}}'; done |
        notelog import my.notelog $quick
      notelog dump --json my.notelog $quick >first
      notelog init other $quick --scrypt-log-n 14 2>/dev/null
      notelog dump --json my.notelog $quick | notelog import other $quick --batch 7
      notelog dump --json other $quick | sed 's/"revision":[0-9]*/R/' >second
      wc -l <first; sed 's/"revision":[0-9]*/R/' first | cmp - second && echo same
      """
    try expect(script, .init(out: "20\nsame\n"))
  }

  @Test func `each id is printed once its commit has reached its level`() throws {
    let script = """
      { echo '{"id":"00000000-0000-0000-0000-0000000000a1","fields":{"title":"1"}}'
        echo '{"id":"000000000000000000000000000000a2","fields":{"title":"2"}}'
        echo '{"id":"00000000-0000-0000-0000-0000000000a1","collection":"note","revision":9,"fields":{"title":"3"}}'
      } >lines
      notelog import my.notelog lines --durable --ack --batch 2 $quick
      notelog list my.notelog $quick --field title
      """
    let expected = """
      00000000-0000-0000-0000-0000000000a1
      00000000-0000-0000-0000-0000000000a2
      00000000-0000-0000-0000-0000000000a1
      00000000-0000-0000-0000-0000000000a1\t3
      00000000-0000-0000-0000-0000000000a2\t2

      """
    try expect(script, .init(out: expected))
  }

  @Test(arguments: [
    ("[]", "a record is an object"), ("{}", "the fields are missing"), ("{", "a name is missing (at byte 1)"),
    (#"{"fields":{},"x":1}"#, "a record has no member 'x'"), (#"{"id":5,"fields":{}}"#, "the id is none"),
    (#"{"id":"5","fields":{}}"#, "the id is none"), (#"{"fields":{"title":5}}"#, "title takes a text value"),
    (#"{"fields":{"titel":""}}"#, "'note' has no field 'titel'"),
    (#"{"collection":"x","fields":{}}"#, "the store has no collection 'x'"),
    (#"{"fields":{"title":{"sealed":44,"key":1}}}"#, "title is sealed in this dump"),
    (#"{"fields":{"title":{"error":"x"}}}"#, "title could not be read when it was dumped"),
    (#"{"fields":{"title":"a","title":"b"}}"#, "a name occurs twice (at byte 23)"),
    (#"{"fields":{"title":"\ud800"}}"#, "half of a surrogate pair (at byte 26)"),
    (String(repeating: "[", count: 100_000), "nested deeper than 32 (at byte 33)"),
  ])
  func `a wrong line is named, and the lines before it are kept`(line: String, message: String) throws {
    let lines =
      #"{"fields":{"title":"kept","body":""}}"# + "\n\n" + line + "\n"
      + #"{"fields":{"title":"not reached"}}"#
    let script =
      storePrelude
      + "notelog import my.notelog $quick; echo $?; notelog list my.notelog -f title $quick | sed 's/.*\t//'"
    let answer = try bench.run(script, input: lines)
    #expect(answer.out == "\(message.contains("collection") ? 1 : 2)\nkept\n")
    #expect(answer.err.hasPrefix("notelog: error: line 3: \(message)\n"), "\(answer.err)")
  }

  @Test func `a line of 100 MB is refused without taking its memory, and nothing is lost`() throws {
    let script = """
      { echo '{"fields":{"title":"kept"}}'
        printf '{"fields":{"title":"'; head -c 100000000 /dev/zero | tr '\\0' x; echo '"}}'
      } | notelog import my.notelog $quick; echo $?
      notelog list my.notelog -f title $quick | sed 's/.*\t//'
      """
    try expect(
      script, .init(out: "2\nkept\n", err: "notelog: error: line 2: the line is longer than 64 MiB\n"))
  }

  @Test func `bytes that are not UTF-8 are refused`() throws {
    let script = """
      printf '{"fields":{"title":"\\377"}}\\n' | notelog import my.notelog $quick; echo $?
      """
    try expect(
      script,
      .init(
        out: "2\n",
        err: "notelog: error: line 1: a string is not UTF-8 (at byte 19)\n"))
  }

  /// A signal ends `poll`, and the tool went on into a `read` that nothing ended before the next byte came.
  @Test func `Ctrl-C ends an import that waits for its next line`() throws {
    let script = """
      mkfifo pipe
      notelog import my.notelog pipe --batch 1 --ack $quick >acks &
      tool=$!
      exec 3>pipe
      echo '{"fields":{"title":"kept"}}' >&3
      until [ -s acks ]; do :; done
      kill -INT $tool; wait $tool; echo $?
      """
    try expect(script, .init(out: "130\n"))
  }

  @Test func `Ctrl-C commits what was read, and leaves a sound store`() throws {
    let script = """
      mkfifo pipe
      notelog import my.notelog pipe --batch 1 --ack $quick >acks &
      tool=$!
      exec 3>pipe
      echo '{"fields":{"title":"kept"}}' >&3
      until [ -s acks ]; do :; done
      kill -INT $tool
      echo '{"fields":{"title":"read"}}' >&3
      exec 3>&-
      wait $tool; echo $?
      notelog verify my.notelog $quick | grep verdict
      notelog list my.notelog -f title $quick | sed 's/.*\t//' | sort | head -1
      """
    try expect(script, .init(out: "130\nverdict    sound\nkept\n"))
  }
}

@Suite struct SearchAndKeyTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(storePrelude + script, expected, input: "", location)
  }

  @Test func `search looks into sealed text, and exits 1 when it finds nothing`() throws {
    let script = """
      notelog add my.notelog title=Monday body='Buy Bread' $quick >/dev/null
      notelog add my.notelog title=Tuesday body='Rest' $quick >/dev/null
      found() { notelog search my.notelog $quick "$@" | sed 's/.*\t//'; }
      found Bread
      found bread
      notelog search my.notelog bread $quick; echo $?
      found -i bread
      found -i bréad
      found day | sort
      found Bread --field title
      notelog search my.notelog day -n 1 --json $quick | grep -c '"body":'
      """
    try expect(script, .init(out: "Monday\n1\nMonday\nMonday\nMonday\nTuesday\n1\n"))
  }

  @Test func `a changed password opens, the old one no longer does, and an added one does too`() throws {
    let script = """
      notelog add my.notelog title=Hello $quick >/dev/null
      echo second >second; echo third >third
      notelog password change my.notelog $quick --new-password-file second --scrypt-log-n 14 2>/dev/null
      notelog password add my.notelog --password-file second --new-password-file third --scrypt-log-n 14 2>/dev/null
      for file in password second third; do
        notelog list my.notelog --password-file $file 2>/dev/null | sed 's/.*\t//'; notelog verify my.notelog >/dev/null || echo bad
      done
      notelog list my.notelog $quick >/dev/null 2>&1; echo $?
      """
    try bench.expect(passwordPrelude + script, .init(out: "Hello\nHello\n12\n"))
  }

  @Test func `a password is taken away, by itself or by its slot, but never the last one`() throws {
    let script = """
      notelog add my.notelog title=Hello $quick >/dev/null
      echo second >second; echo third >third
      for new in second third; do notelog password add my.notelog $quick --new-password-file $new --scrypt-log-n 14 2>/dev/null; done
      opens() { notelog list my.notelog --password-file $1 >/dev/null 2>&1; echo $1 $?; }
      notelog password remove my.notelog --password-file second
      opens second; opens third
      notelog info my.notelog | grep '^slot'
      notelog password remove my.notelog 2 $quick; opens third
      notelog password remove my.notelog 7 $quick; echo $?
      notelog password remove my.notelog x $quick; echo $?
      notelog password remove my.notelog $quick; echo $?
      opens password; notelog verify my.notelog $quick | grep verdict
      """
    let expected = """
      second 12
      third 0
      slot        0, password, scrypt 2^14
      slot        2, password, scrypt 2^14
      third 12
      1
      64
      2
      password 0
      verdict    sound

      """
    let error = """
      notelog: error: removing slot 7: the keyring has no slot 7
      notelog: error: 'x' is no slot's number
      notelog: hint: info lists the slots
      notelog: error: removing a password: the last slot can't be removed, nobody could unlock the store any more

      """
    try bench.expect(passwordPrelude + script, .init(out: expected, err: error))
  }

  @Test func `named keys are added, and listed by number or by name`() throws {
    let script = """
      notelog key add my.notelog diary --class afterFirstUnlock $quick
      notelog key list my.notelog
      notelog key list my.notelog $quick
      notelog key list my.notelog $quick --json
      notelog key add my.notelog x --class never $quick; echo $?
      """
    let expected = """
      1  whenUnlocked  0 values  its name is sealed
      2  afterFirstUnlock  0 values  its name is sealed
      1  whenUnlocked  0 values  default
      2  afterFirstUnlock  0 values  diary
      {"number":1,"name":"default","class":"whenUnlocked","shreddable":false,"state":"open","generations":[{"number":1,"values":0}]}
      {"number":2,"name":"diary","class":"afterFirstUnlock","shreddable":false,"state":"open","generations":[{"number":2,"values":0}]}
      64

      """
    let error = """
      notelog: error: --class takes whenUnlocked, whenUnlockedThisDeviceOnly, afterFirstUnlock, afterFirstUnlockThisDeviceOnly, always or alwaysThisDeviceOnly, not 'never'

      """
    try expect(script, .init(out: expected, err: error))
  }
}
