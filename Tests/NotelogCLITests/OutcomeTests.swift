// What a verb that fails says it has done, and what a list shows of fields that are not set.
import Foundation
@testable import Notelog
import Testing

@Suite struct VerbOutcomeTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private func expect(_ script: String, _ out: String) throws {
    try bench.expect(storePrelude + script, .init(out: out))
  }

  /// The bug: the record was there, nobody knew under which id, and it said that standard output could not be
  /// written to.
  @Test func `what was added is said where it can't be printed`() throws {
    try expect(
      """
      notelog add my.notelog title=one $quick >/dev/full 2>err; echo $?
      id=$(notelog list my.notelog $quick | cut -f1)
      sed "s/$id/ID/" err
      notelog list my.notelog $quick | wc -l
      notelog key recovery my.notelog $quick >/dev/full 2>err; echo $?; cat err
      notelog info my.notelog --json | grep -o 'recovery' | wc -l
      """,
      """
      2
      notelog: error: record ID is added, and its id can't be printed: cannot write to standard output: no space left on device
      1
      2
      notelog: error: a recovery key is added that nobody has seen: cannot write to standard output: no space left on device
      notelog: hint: 'notelog password remove my.notelog 1' takes it away
      1

      """)
  }

  /// The bug: the stars stood where the title belongs.
  @Test func `a field that is not set has its column in a list`() throws {
    try expect(
      """
      cat >schema <<'END'
      {"collections": [{"name": "film", "fields": [{"name": "title", "type": "text", "optional": true},
        {"name": "stars", "type": "integer", "optional": true}, {"name": "seen", "type": "boolean", "optional": true}]}]}
      END
      notelog init films --schema schema $quick --scrypt-log-n 14 2>/dev/null
      notelog add films stars=3 $quick >/dev/null
      notelog add films title=Up seen=true $quick >/dev/null
      notelog list films --sort stars | cut -f2-
      notelog list films --field stars --field title --sort stars | cut -f2-
      notelog search films Up | cut -f2-
      notelog list films --sort stars --json | grep -o '"fields".*'
      """,
      """
      Up\t\ttrue
      \t3\t
      \tUp
      3\t
      Up\t\ttrue
      "fields":{"title":"Up","stars":null,"seen":true}}
      "fields":{"title":null,"stars":3,"seen":null}}

      """)
  }

  /// The bug: the commit that failed was said to be the fault of a line.
  @Test func `an import that finds no room says up to which line all is there`() throws {
    guard Workbench.canMount else { return }
    try bench.write(
      "full",
      """
      mount -t tmpfs -o size=6m none disk || exit 9
      notelog init disk/s $quick --scrypt-log-n 14 2>/dev/null
      awk 'BEGIN { for (i = 0; i < 9000; i++) printf "{\\"fields\\":{\\"title\\":\\"%0900d\\"}}\\n", i }' >lines
      notelog import disk/s lines --batch 100 $quick 2>err; echo $?
      count=$(notelog dump disk/s --json | wc -l)
      grep -c "nothing is imported after line $count: no space left" err
      """)
    try expect("mkdir disk; export quick; unshare -rm sh full", "2\n1\n")
  }

  /// The bug: it said neither how much was there, nor that it could be gone on with.
  @Test func `a table that finds no room says how many rows are in, and goes on when there is room`() throws {
    guard Workbench.canMount else { return }
    try bench.write(
      "full",
      """
      mount -t tmpfs -o size=12m none disk || exit 9
      notelog init disk/s $quick --empty 2>/dev/null
      awk 'BEGIN { print "title"; for (i = 0; i < 5000; i++) printf "%0900d\\n", i }' >t.csv
      head -c 7000000 /dev/zero >disk/rest
      notelog import disk/s t.csv --plain title --yes $quick >/dev/null 2>err; echo $?
      count=$(notelog dump disk/s --json | wc -l); [ $count -gt 0 ] && echo some
      grep -c "note: $count of 5000 rows are in the store: the same command goes on with the rest" err
      rm disk/rest; notelog import disk/s t.csv --yes $quick | grep imported | grep -c ", $count were there"
      """)
    try expect("mkdir disk; export quick; unshare -rm sh full", "2\nsome\n1\n1\n")
  }

  /// 'set' leaves what was before for 'undo', and so can't make room by itself.
  @Test func `a change that finds no room says how to make some, and that works on the full disk`() throws {
    guard Workbench.canMount else { return }
    try bench.write(
      "full",
      """
      mount -t tmpfs -o size=4m none disk || exit 9
      notelog init disk/s $quick 2>/dev/null; head -c 100000 /dev/urandom | base64 >text
      id=$(notelog add disk/s title=x body=@text $quick)
      for i in $(seq 40); do notelog set disk/s $id body=@text $quick 2>/dev/null || break; done
      cat /dev/zero >disk/rest 2>/dev/null; notelog set disk/s $id title=y body=@text $quick; echo $?
      notelog compact disk/s >/dev/null && notelog set disk/s $id title=y body=@text $quick && notelog get disk/s $id title $quick
      """)
    try bench.expect(
      storePrelude + "mkdir disk; export quick; unshare -rm sh full",
      .init(
        out: "2\ny",
        err: """
          notelog: error: no space left on the device
          notelog: hint: 'notelog compact STORE' gives back what was changed or removed, on a full disk too; or remove something first

          """))
  }

  /// The bug: whether anything was under the new generation, it didn't say.
  @Test func `a rotation that finds no room says where it stands, and goes on when there is room`() throws {
    guard Workbench.canMount else { return }
    try bench.write(
      "full",
      """
      mount -t tmpfs -o size=24m none disk || exit 9
      notelog init disk/s $quick --segment-size 1M 2>/dev/null
      awk 'BEGIN { for (i = 0; i < 2000; i++) printf "{\\"fields\\":{\\"title\\":\\"%0900d\\"}}\\n", i }' >lines
      notelog import disk/s lines $quick 2>/dev/null
      head -c $(($(df --output=avail -B1 disk | tail -1) - 20000)) /dev/zero >disk/rest
      notelog key rotate disk/s default --yes $quick 2>err; echo $?
      grep -c "note: what is sealed anew stays so" err; grep -c "error: no space left" err
      notelog key list disk/s $quick
      rm disk/rest; notelog key rotate disk/s default --yes $quick 2>err; echo $?
      """)
    try expect(
      "mkdir disk; export quick; unshare -rm sh full",
      """
      2
      1
      1
      2  whenUnlocked  0 values, 2000 under 1  default
      2000 values sealed anew under generation 2; generation 1 is given up
      0

      """)
  }

  /// The bug: whoever had it ignore that the terminal is closed found it ended all the same.
  @Test func `a signal ends a verb with a word and its number, and nohup is heeded`() throws {
    try bench.write("signal", "kill -$1 $PPID; cat password")
    try bench.expect(
      passwordPrelude + """
        for name in HUP TERM QUIT INT; do
          notelog search my.notelog text --password-command "sh signal $name" 2>err; echo $? $(cat err)
        done
        (trap '' HUP; notelog search my.notelog text --password-command "sh signal HUP" 2>err; echo $? $(cat err))
        """,
      .init(
        out: """
          129 notelog: error: ended by a signal
          143 notelog: error: ended by a signal
          131 notelog: error: ended by a signal
          130
          1

          """))
  }

  /// The bug: whatever stood in the way of looking, there was no store.
  @Test func `a path that can't be looked at is not said to hold no store`() throws {
    try expect(
      """
      ln -s round round
      long=$(printf '%0300d' 1)
      for path in round $long key/below; do notelog search $path x 2>&1 | grep error | cut -d: -f1-3 | sed "s/$long/LONG/"; done
      """,
      """
      notelog: error: cannot look at 'round'
      notelog: error: cannot look at 'LONG'
      notelog: error: there is no store at 'key/below'

      """)
  }

  /// The bug: an import left no order behind, and each process that asked for the first ten read all records.
  @Test func `an import leaves the orders of indexed fields`() throws {
    try bench.expect(
      storePrelude
        + """
        awk 'BEGIN { for (i = 0; i < 2000; i++) printf "{\\"fields\\":{\\"title\\":\\"%d\\",\\"time\\":\\"2026-11-26T10:00:%02dZ\\"}}\\n", i, i % 60 }' >lines
        notelog import my.notelog lines $quick
        """, .init())
    var options = Store.Options()
    options.isReadOnly = true
    let store = try Store.open(at: bench.folder.path + "/my.notelog", options: options)
    let collection = try store.collection("note")
    let name = OrderName(collection: 1, field: 1)
    let order = try #require(store.journal.storedOrder(name))
    let stored = try store.journal.index(of: name, from: order, at: store.journal.snapshot())
    #expect(stored?.index.count == 2000)
    #expect(try collection.count == 2000)
    try store.close()
  }
}
