// Names that somebody else chose, of columns, tables and files: no program that reads or writes them is led
// to do anything else.
import Foundation
import Testing

@testable import Notelog

@Suite struct NameDoorTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(_ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation)
    throws
  {
    try bench.expect(passwordPrelude + script, expected, location)
  }

  /// The bug: such names were taken, and `notelog export --as sql | sqlite3` ran what the file's maker had
  /// put into a value: sqlite3 ends a line at the zero byte, so that a quotation mark was open, and the next
  /// `"` in a value closed it.
  @Test func `a column's name with a control character is refused, and so are those of schemas and keys`()
    throws
  {
    let script = #"""
      printf 'a\000b,c\n1,"x"\n' >nul.csv; printf 'a\033[2J\n1\n' >esc.csv; printf '"a\nb"\n1\n' >line.csv
      printf '{"a\\u0000b":1}\n' >nul.jsonl; printf 'a\n1\n' >"$(printf 'x\001.csv')"
      printf '{"collections":[{"name":"t","fields":[{"name":"a\\u0000","type":"text"}]}]}' >schema.json
      for options in "" --propose; do
        for file in nul.csv esc.csv line.csv nul.jsonl "$(printf 'x\001.csv')"; do
          notelog import my.notelog "$file" --from ${file##*.} --plain '' --yes $options $quick >>out; echo $?
        done
      done
      notelog init other --schema schema.json $quick --scrypt-log-n 14 >>out 2>>said; echo $?; ls other 2>>said
      notelog key add my.notelog "$(printf 'k\033')" $quick >>out; echo $?
      cat out; notelog info my.notelog | grep -c ^collection
      """#
    let names = #"a\u{0}b a\u{1B}[2J a\nb a\u{0}b x\u{1}"#.split(separator: " ")
    let refusals = names.map { "notelog: error: the name '\($0)' has control characters\n" }.joined()
    let key = #"notelog: error: creating a key: the name "k\u{1B}" has control characters"# + "\n"
    try expect(
      script,
      .init(out: String(repeating: "2\n", count: 12) + "1\n", err: refusals + refusals + key))
  }

  /// A store of before, when names could be anything: the library writes it past its own rule.
  private func makeStore(_ declared: CollectionDescription..., values: [String: DynamicValue]) throws {
    _ = try bench.run(passwordPrelude)
    let store = try Store.open(
      at: bench.folder.path + "/my.notelog", unlocking: .password("open sesame"))
    for declared in declared {
      try store.write { tx in _ = try tx.collection(for: declared) }
      try store.collection(declared.name).add(values)
    }
    try store.close()
  }

  @Test func `an export refuses a name that the other program would not take for one`() throws {
    let attack = "x\");\n.shell touch pwned\n"
    try makeStore(
      CollectionDescription(
        name: "bad", fields: [.plain("a\0", .text, optional: true), .plain("b", .text, optional: true)]),
      values: ["b": .text(attack)])
    let script = """
      quick="--password-file password"
      for format in sql csv; do notelog export my.notelog bad --as $format $quick >out 2>err; echo $?; wc -c <out; cat err; done
      notelog export my.notelog $quick 2>/dev/null | sqlite3 new.db; ls pwned 2>/dev/null
      notelog export my.notelog bad --as jsonl $quick | grep -c 'shell touch'
      notelog list my.notelog bad $quick | grep -c 'shell touch'
      """
    func refusal(_ format: String) -> String {
      """
      2
      0
      notelog: error: the name 'a\\u{0}' can't be written as \(format)
      notelog: hint: --as jsonl writes it

      """
    }
    try bench.expect(script, .init(out: refusal("sql") + refusal("csv") + "1\n1\n"))
  }

  /// The bug: SQLite knows no `a` beside `A`, made no table, and lost all records.
  @Test(.enabled(if: TransferTests.hasSQLite))
  func `names that differ in capital letters only do not collide in an export`() throws {
    let fields = ["id", "ID", "Id_2", "a", "A"].map { FieldDescription.plain($0, .text) }
    let values = ["id": "1", "ID": "2", "Id_2": "3", "a": "4", "A": "5"].mapValues(DynamicValue.text)
    try makeStore(
      CollectionDescription(name: "t", fields: fields), CollectionDescription(name: "T", fields: fields),
      values: values)
    let script = """
      quick="--password-file password"
      notelog export my.notelog $quick 2>err | sqlite3 -bail new.db; sort -u err
      sqlite3 -header new.db 'SELECT id, ID_3, Id_2, a, A_2 FROM t; '; sqlite3 new.db 'SELECT count(*) FROM T_2; SELECT count(record_id) FROM t'
      sqlite3 new.db .schema | grep -c 'record_id TEXT PRIMARY KEY'
      notelog export my.notelog t --as csv $quick | head -n 1 | tr -d '\\r'
      """
    let expected = """
      notelog: note: 'A' is 'A_2': SQLite takes capital and small letters for the same
      notelog: note: 'ID' is 'ID_3': SQLite takes capital and small letters for the same
      notelog: note: 'T' is 'T_2': SQLite takes capital and small letters for the same
      id|ID_3|Id_2|a|A_2
      1|2|3|4|5
      1
      1
      2
      record_id,id,ID,Id_2,a,A

      """
    try bench.expect(script, .init(out: expected))
  }

  @Test func `a collection with a name that SQLite keeps for itself is refused`() throws {
    try makeStore(
      CollectionDescription(name: "sqlite_stat1", fields: [.plain("a", .text)]), values: ["a": .text("1")])
    try bench.expect(
      "notelog export my.notelog sqlite_stat1 --password-file password",
      .init(
        2,
        err: """
          notelog: error: the name 'sqlite_stat1' can't be written as sql
          notelog: hint: --as jsonl writes it

          """))
  }

  /// The bug: sqlite3 took the name for a URI, and opened another file.
  @Test(.enabled(if: TransferTests.hasSQLite)) func `a database is opened by its name and by no other`()
    throws
  {
    let script = """
      mkdir in; cd in
      sqlite3 evil.db "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('another file')"
      for name in file:evil.db -readonly :memory: 'file:evil.db?mode=rw'; do
        sqlite3 "./$name" "CREATE TABLE t (a TEXT); INSERT INTO t VALUES ('the file named')"
        notelog import ../my.notelog --from sqlite --table t --propose -- "$name"
      done
      """
    let proposal = """
      collection t, 1 row
        a  text, plain; for instance the file named

      """
    try expect(script, .init(out: String(repeating: proposal, count: 4)))
  }

  /// The bug: what sqlite3 and password commands said on stderr went to the terminal as it was.
  @Test func `what another program says on stderr is escaped, whole, and before our own`() throws {
    let script = #"""
      printf '\303\274\033[2J\233\302\205 \r\342\200\256\n%0100000d\nend' 7 >words
      printf '#!/bin/sh\ncat words >&2; tail -f /dev/null >/dev/null & echo $! >pid; echo open sesame\n' >pass; chmod +x pass
      printf '#!/bin/sh\nprintf "\\303" >&2; cat next; printf "\\274\\033" >&2; exit 3\n' >halves; chmod +x halves; touch next
      notelog list my.notelog --password-command ./pass --field title 2>err; echo $?
      kill $(cat pid); LC_ALL=C tr -d '0' <err
      notelog list my.notelog --field title --password-command ./halves
      """#
    let out = """
      0
      ü\\u{1B}[2J\u{FFFD}\\u{85} \\r\\u{22E}
      7
      end
      """
    let err = """
      ü\\u{1B}notelog: error: the password command './halves' failed with exit code 3

      """
    try expect(script, .init(2, out: out, err: err))
  }

  @Test(.enabled(if: TransferTests.hasSQLite)) func `what sqlite3 says of a file is escaped too`() throws {
    let script = #"""
      sqlite3 bad.db 'CREATE TABLE t (a); CREATE TABLE u (a)'
      sqlite3 bad.db "PRAGMA writable_schema = 1; UPDATE sqlite_schema SET name = 'x' || char(27) || '[2J', sql = 'no' WHERE name = 'u'"
      notelog import my.notelog bad.db --from sqlite --table t --propose >out 2>err; echo $?
      LC_ALL=C grep -c '[[:cntrl:]]' err; grep -c 'u{1B}\[2J' err; grep -c "sqlite3 could not read" err
      """#
    try expect(script, .init(out: "2\n0\n1\n1\n"))
  }
}
