// What the tool says fits what happened, and the next step that it names is one.
import Foundation
import Testing

@Suite struct SentenceTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(passwordPrelude + script, expected, location)
  }

  /// The bug: whoever had given the password with --password-file was told to give it with --password-file.
  @Test func `a new password that can't be asked for is given by its own option`() throws {
    let script = """
      for command in "password add my.notelog" "password change my.notelog" "key grant my.notelog default --yes"; do
        notelog $command $quick 2>&1 | grep -v slot
      done
      notelog init other
      """
    let error = """
      notelog: error: a new password is needed, and there is no terminal to ask on
      notelog: hint: give it with --new-password-file FILE

      """
    try expect(
      script,
      .init(
        12, out: error + error + error,
        err: """
          notelog: error: a new password is needed, and there is no terminal to ask on
          notelog: hint: give it with --password-file FILE

          """))
  }

  @Test func `a grant's password is not kept, and why is said`() throws {
    let script = """
      export XDG_RUNTIME_DIR=$PWD/run; mkdir -m 700 run; echo friend >friend; chmod 600 friend
      notelog key grant my.notelog default --yes $quick --new-password-file friend --scrypt-log-n 14 2>/dev/null
      notelog unlock my.notelog --password-file friend; echo $?; ls run
      """
    try expect(
      script,
      .init(
        out: "12\n",
        err: """
          notelog: error: this password opens some keys only, and what is kept would open all: nothing is kept
          notelog: hint: give it to each command with --password-file FILE

          """))
  }

  @Test func `an archive is called one, by every command that takes a store`() throws {
    let script = """
      notelog backup my.notelog copy >/dev/null
      for command in list info dump compact "key list" unlock "agent status"; do
        notelog $command copy 2>&1 | head -1
      done | sort -u
      notelog list copy 2>&1 | tail -1
      """
    try expect(
      "export XDG_RUNTIME_DIR=$PWD\n" + script,
      .init(
        out: """
          notelog: error: 'copy' is an archive, and no store
          notelog: hint: 'notelog restore copy NEW' makes one of it

          """))
  }

  @Test func `what can't be imported as it is says what to do`() throws {
    let script = """
      printf '[{"a":1}]' >list.json; printf 'BEGIN TRANSACTION;\n' >dump.sql; printf 'a,b\n1,2\n' >x.csv
      for file in list.json dump.sql; do notelog import my.notelog $file $quick; done
      cat x.csv | notelog import my.notelog $quick; notelog import my.notelog x.csv --table a $quick
      (printf 'SQLite format 3'; head -c 99 /dev/zero) | notelog import my.notelog $quick
      echo '{"fields":{}}' | notelog import my.notelog --seal title $quick
      """
    let error = """
      notelog: error: it is a list of JSON, not lines
      notelog: hint: 'jq -c .[]' makes lines of it
      notelog: error: it is SQL, which sqlite3 reads
      notelog: hint: 'sqlite3 -safe NEW.db <FILE' makes a database of it, which import takes
      notelog: error: what comes from a pipe has no name: --into names the collection
      notelog: error: --table is for SQLite databases, and this is csv
      notelog: error: an SQLite database comes from a file, which sqlite3 opens, not from a pipe
      notelog: error: --seal is for tables, and these are lines of dump --json

      """
    try expect(script, .init(64, err: error))
  }

  /// The bug: it exited 0.
  @Test func `an import that is refused by its reader exits 1`() throws {
    let script =
      passwordPrelude + "printf 'a\\n1\\n' >t.csv; notelog import my.notelog t.csv --from csv; echo ended $?"
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("take it? [y/N] ")
    try terminal.type("n\n")
    try terminal.awaitText("nothing was imported")
    try terminal.awaitText("ended 1")
    #expect(terminal.finish() == 0)
  }

  /// The bug: the new password was asked for twice first.
  @Test func `init says that a store is there before it asks for a password`() throws {
    let terminal = try PseudoTerminal(passwordPrelude + "notelog init my.notelog; echo ended $?", in: bench)
    try terminal.awaitText("ended 2")
    #expect(terminal.finish() == 0)
    #expect(terminal.shown.contains("the folder 'my.notelog' is not empty"))
    #expect(!terminal.shown.contains("password: "))
  }

  @Test func `what verify finds has a next step, also where nothing of the log is left to be checked`() throws
  {
    let script = """
      notelog add my.notelog title=Hello $quick >/dev/null
      cp -r my.notelog damaged; printf X | dd of=damaged/000000000001.journal bs=1 seek=5100 conv=notrunc status=none
      notelog verify damaged >/dev/null; echo $?
      # A compacted segment is left alone.
      notelog key rotate my.notelog default --yes $quick >/dev/null 2>&1
      for n in $(notelog info my.notelog | sed -n 's/^segment *\\([0-9]*\\), log.*/\\1/p'); do
        rm my.notelog/$(printf %012d $n).journal
      done
      notelog verify my.notelog >/dev/null; echo $?
      """
    let answer = try bench.run(passwordPrelude + script)
    let lines = answer.err.split(separator: "\n")
    #expect(answer.out == "1\n1\n", "\(answer)")
    #expect(
      lines.first
        == "notelog: hint: 'notelog salvage damaged --to NEW' saves what is left, and 'notelog restore' brings a backup back"
    )
    #expect(lines.last?.hasPrefix("notelog: hint: 'notelog salvage my.notelog --to NEW' saves") == true)
  }

  /// The bug: 'no record is lost by it', of a store that had lost a long value.
  @Test func `a damaged long value is said to be lost`() throws {
    try bench.write(
      "schema.json",
      #"{"collections": [{"name": "file", "fields": [{"name": "data", "type": "bytes", "sealed": true}]}]}"#)
    let script = """
      notelog init files $quick --schema schema.json --scrypt-log-n 14 2>/dev/null
      id=$(notelog add files data= $quick)
      head -c 17000000 /dev/zero >long; notelog set files $id data=@long $quick
      printf X | dd of=files/000000000004.journal bs=1 seek=500000 conv=notrunc status=none
      notelog get files $id data $quick >/dev/null 2>said; echo $?
      grep -o 'a value of 1 record is lost (segment 4)' said; grep -c 'no record is lost' said
      """
    try expect(script, .init(1, out: "3\na value of 1 record is lost (segment 4)\n0\n"))
  }

  /// The bug: 5,200 bytes became 10,568.
  @Test func `compacting a small store does not make it larger`() throws {
    let script = """
      size() { cat my.notelog/*.journal | wc -c; }
      for n in 1 2 3 4; do
        id=$(notelog add my.notelog title=$n $quick); before=$(size)
        notelog compact my.notelog >/dev/null; [ $(size) -le $before ] || echo "$before became $(size)"
        notelog remove my.notelog $id >/dev/null; before=$(size)
        notelog compact my.notelog >/dev/null; [ $(size) -le $before ] || echo "$before became $(size)"
      done
      """
    try expect(script, .init())
  }
}
