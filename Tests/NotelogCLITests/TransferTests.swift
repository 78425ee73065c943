// `import --from` and `export`: what is taken over from other programs, and what they get back.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct TransferTests {
  /// Whether SQLite's own program is here; the tool needs it for databases only.
  static let hasSQLite = FileManager.default.isExecutableFile(atPath: "/usr/bin/sqlite3")

  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(storePrelude + script, expected, input: "", location)
  }

  @Test(.enabled(if: hasSQLite)) func `a table of SQLite is proposed, taken over, and gone on with`() throws {
    let script = """
      sqlite3 old.db <<'SQL'
      CREATE TABLE "my note" (id INTEGER PRIMARY KEY, title TEXT, stars, score REAL, photo BLOB, done BOOLEAN, extra);
      INSERT INTO "my note" VALUES (3, 'it''s "so"', 1, 0.1, X'00FF', 1, 'x'), (-7, 'ü' || char(10), NULL, 1e300, NULL, 0, 2.5),
        (9223372036854775807, '', -9223372036854775807 - 1, 5, X'', 1, 4);
      SQL
      import="notelog import my.notelog old.db --from sqlite --table"
      $import 'my note' --seal title,photo --propose
      $import 'my note' --seal title,photo --yes $quick | tail -n 3
      sqlite3 old.db "INSERT INTO \\"my note\\" VALUES (4, 'four', 1, 1, NULL, 0, NULL)"
      $import 'my note' --seal title,photo --yes $quick | tail -n 2
      notelog export my.notelog 'my note' $quick | sqlite3 new.db
      sqlite3 old.db "ATTACH 'new.db' AS new; SELECT id, title, stars, score, hex(photo), done, CAST(extra AS TEXT) FROM \\"my note\\" EXCEPT
        SELECT id, title, stars, score, hex(photo), done, extra FROM new.\\"my note\\"; SELECT count(*) FROM new.\\"my note\\""
      sqlite3 old.db "UPDATE \\"my note\\" SET stars = 5 WHERE id = 4"
      $import 'my note' --seal title,photo --yes $quick 2>&1 >/dev/null | head -n 1
      $import nothing --yes $quick; echo $?
      $import 'my note' --seal titel --yes $quick 2>&1
      """
    let expected = """
      collection my note, 3 rows
        id     integer, plain; for instance -7
        title  text, sealed; for instance ü\\n
        stars  integer, plain, optional; for instance 1
        score  double, plain; for instance 1e+300
        photo  bytes, sealed, optional; for instance AP8=
        done   boolean, plain; for instance false
        extra  text, plain; 1 integer and 1 double as text; for instance 2.5
      imported   3 records
      compared   3 rows and as many records: the same, but for
        extra: 1 integer and 1 double as text

      """
    let answer = try bench.run(storePrelude + script, input: "")
    #expect(answer.out.hasPrefix(expected), "\(answer.out)")
    // A column that has become optional needs another collection: nothing is changed unasked.
    #expect(
      answer.err.contains("row 4, column 'extra': there is no value, and the field is not optional"),
      "\(answer.err)")
    #expect(answer.out.contains("row 4, column 'extra'"), "nothing was changed, and so it is the same error")
    #expect(answer.err.contains("there is no table 'nothing' in 'old.db'"))
    #expect(answer.out.contains("there is no column 'titel'") && answer.out.contains("did you mean 'title'?"))
  }

  @Test(.enabled(if: hasSQLite)) func `Core Data's tables lose their bookkeeping, and times are dates`()
    throws
  {
    let script = """
      sqlite3 core.db "CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZTIME TIMESTAMP, ZTITLE VARCHAR);
        INSERT INTO ZNOTE VALUES (1, 1, 3, 0.5, 'a'), (2, 1, 1, 700000000, 'b')"
      notelog import my.notelog core.db --from sqlite --table ZNOTE --seal ZTITLE --into core --yes $quick
      notelog list my.notelog core --json $quick | sed 's/.*"fields"://' | sort
      """
    let expected = """
      collection core, 2 rows
        time   date, plain
        title  text, sealed
        left out: Z_PK, Z_ENT, Z_OPT
      imported   2 records
      compared   2 rows and as many records: all the same
      left out   Z_PK, Z_ENT, Z_OPT
      {"time":"2001-01-01T00:00:00.5Z","title":"a"}}
      {"time":"2023-03-08T20:26:40Z","title":"b"}}

      """
    try expect(script, .init(out: expected))
  }

  @Test(.enabled(if: hasSQLite)) func `an infinite number is a text to a column of texts, and no double`()
    throws
  {
    let script = """
      sqlite3 t.db "CREATE TABLE t (a); INSERT INTO t VALUES ('x'), (9e999);
        CREATE TABLE d (b REAL); INSERT INTO d VALUES (-9e999)"
      notelog import my.notelog t.db --from sqlite --table t --plain a --yes $quick >/dev/null
      notelog list my.notelog t -f a $quick | sed 's/.*\t//'
      notelog import my.notelog t.db --from sqlite --table d --plain b --yes $quick >/dev/null
      notelog list my.notelog d -f b $quick | sed 's/.*\t//'
      """
    try expect(script, .init(out: "x\ninf\n-inf\n"))
  }

  /// The bug: rows were looked at first only where the collection was there, and of a new one the thousand
  /// before such a row were written. Later: it stayed behind, empty.
  @Test(.enabled(if: hasSQLite)) func `a new collection takes no row where one does not fit`() throws {
    let script = """
      sqlite3 t.db "CREATE TABLE t (a TEXT); INSERT INTO t SELECT '2001-01-01' FROM generate_series(1, 1500); INSERT INTO t VALUES ('x')"
      notelog import my.notelog t.db --table t --plain a --type a=date --yes $quick >/dev/null; echo $?
      notelog info my.notelog | grep -c '  t:'
      """
    try expect(
      script,
      .init(1, out: "2\n0\n", err: "notelog: error: row 1501, column 'a': 'x' is not a date value\n"))
  }

  /// The bug: a column without a value was text whatever it was declared to be, a text of 0.1 had seventeen
  /// digits, and columns were dropped without a word.
  @Test(.enabled(if: hasSQLite)) func `declared types count, and what is not taken is said`() throws {
    let script = """
      sqlite3 t.db "CREATE TABLE t (a INTEGER, b REAL, c VARCHAR(9), d BLOB, e BOOLEAN, f NUMERIC, g, h DECIMAL(9,2), i, j AS (i || 'x'));
        INSERT INTO t (h, i) VALUES (3, 0.1), (4, 'x'); CREATE TABLE ZE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZT TIMESTAMP, ZN INTEGER);
        CREATE TABLE none (a INTEGER, b DATE)"
      notelog import my.notelog t.db --from sqlite --table t --seal c --yes $quick
      notelog list my.notelog t -f i $quick | sed 's/.*\t//'
      for table in ZE none; do notelog import my.notelog t.db --from sqlite --table $table --propose; done
      """
    let expected = """
      collection t, 2 rows
        a  integer, plain, optional
        b  double, plain, optional
        c  text, sealed, optional
        d  bytes, plain, optional
        e  boolean, plain, optional
        f  double, plain, optional
        g  text, plain, optional
        h  double, plain; 2 integers as double
        i  text, plain; 1 double as text
        left out: j
      imported   2 records
      compared   2 rows and as many records: the same, but for
        h: 2 integers as double
        i: 1 double as text
      left out   j
      0.1
      x
      collection e, 0 rows
        t  date, plain
        n  integer, plain
        left out: Z_PK, Z_ENT
      collection none, 0 rows
        a  integer, plain
        b  text, plain

      """
    try expect(script, .init(out: expected))
  }

  @Test(.enabled(if: hasSQLite)) func `an import that is killed goes on, and doubles nothing`() throws {
    let script = """
      sqlite3 many.db "CREATE TABLE t (a INTEGER, b TEXT);
        INSERT INTO t SELECT value, 'text ' || value FROM generate_series(1, 30000)"
      import="notelog import my.notelog many.db --from sqlite --table t --seal b --yes $quick"
      killed=0
      for hundredths in 30 45 60 75; do
        timeout -s KILL 0.$hundredths $import >/dev/null 2>&1 || killed=$((killed + 1))
      done
      $import | tail -n 1
      notelog info my.notelog | sed -n 's/^collection  t: \\([0-9]*\\) records.*/\\1/p'
      echo killed $killed
      """
    let answer = try bench.run(storePrelude + script, input: "")
    #expect(
      answer.out.contains("compared   30000 rows and as many records: all the same\n30000\nkilled "),
      "\(answer.out)\(answer.err)")
  }

  @Test func `comma-separated values go in and out, whatever is in them`() throws {
    let script = #"""
      printf '\357\273\277name,count,ratio,ok,note\r\n"a ""b"", c",1,1.0,true,"two\nlines"\r\n,-5,2.5,false,\r\n"",7,1000.0,true,"x,"\r\n' >t.csv
      notelog import my.notelog t.csv --from csv --seal note --yes $quick
      notelog export my.notelog t --as csv $quick | cut -d, -f2- >out.csv
      notelog init other $quick --scrypt-log-n 14 2>/dev/null
      notelog import other out.csv --from csv --seal note --into t --yes $quick >/dev/null
      notelog export other t --as csv $quick | cut -d, -f2- | cmp - out.csv && echo same
      sort out.csv | tr -d '\r'
      """#
    let expected = """
      collection t, 3 rows
        name   text, plain, optional
        count  integer, plain
        ratio  double, plain
        ok     boolean, plain
        note   text, sealed, optional
      imported   3 records
      compared   3 rows and as many records: all the same
      same
      "",7,1000.0,true,"x,"
      "a ""b"", c",1,1.0,true,"two
      ,-5,2.5,false,
      lines"
      name,count,ratio,ok,note

      """
    try expect(script, .init(out: expected))
  }

  /// The bug: of a row with a value of two lines, the last cell kept its carriage return, and its column
  /// became text; those between quotation marks were lost.
  @Test func `lines end in LF or CR LF, and between quotation marks every byte is the value's`() throws {
    let script = #"""
      printf 'text,count\r\n"two\r\nlines",1\r\n"one\nfeed\r",2\r\n"\r\n","3"\r\n\r\nbare\r,4\r\n"x",5\n"\r",6' >t.csv
      notelog import my.notelog t.csv --from csv --seal text --yes $quick
      notelog export my.notelog t --as csv $quick | sed 's/^[0-9a-f-]\{36\},//; s/^id,//' | od -An -c | tr -d ' \n'; echo
      """#
    let values = #""two\r\nlines",1\r\n"one\nfeed\r",2\r\n"\r\n",3\r\n"bare\r",4\r\nx,5\r\n"\r",6\r\n"#
    let expected = """
      collection t, 6 rows
        text   text, sealed
        count  integer, plain
      imported   6 records
      compared   6 rows and as many records: all the same
      text,count\\r\\n\(values)

      """
    try expect(script, .init(out: expected))
  }

  @Test(arguments: [
    ("a,b\n1\n", "line 2: 1 values, where there are 2 names"), ("a,a\n", "the names in the first line"),
    ("", "has no line with names"), ("a\n\"x", "line 2: a value in quotation marks has no end"),
    ("a\n\"x\"y\n", "line 2: something follows a value in quotation marks"),
    ("a\n\u{1}\n", "line 2: a value is not UTF-8"),
  ])
  func `what is no table of values is refused, with its line`(content: String, message: String) throws {
    // A byte of 1 stands for one that no text has.
    let bytes = content.utf8.map { String(format: "\\%03o", $0 == 1 ? 255 : $0) }.joined()
    let answer = try bench.run(
      storePrelude + "printf '\(bytes)' >t.csv; notelog import my.notelog t.csv --from csv --yes $quick",
      input: "")
    #expect(answer.err.contains(message) && answer.code == 2, "\(answer.err)")
  }

  @Test func `one table goes into two collections`() throws {
    let script = """
      printf 'a\\n1\\n' >t.csv
      for name in one two; do notelog import my.notelog t.csv --from csv --into $name --plain a --yes $quick | tail -n 1; done
      """
    let line = "compared   1 row and as many records: all the same\n"
    try expect(script, .init(out: line + line))
  }

  @Test func `lines of JSON become fields, and lists stay JSON`() throws {
    let script = #"""
      printf '{"a":1,"b":"x","c":[1,{"d":null}]}\n\n{"a":2.5,"e":true}\n' >t.jsonl
      notelog import my.notelog t.jsonl --from jsonl --plain a,b,c,e --yes $quick
      notelog export my.notelog t --as jsonl $quick | sed 's/.*"fields"://' | sort
      echo '[1]' >u.jsonl
      notelog import my.notelog u.jsonl --from jsonl --plain a --yes $quick
      """#
    let expected = #"""
      collection t, 2 rows
        a  double, plain; 1 integer as double
        b  text, plain, optional
        c  json, plain, optional
        e  boolean, plain, optional
      imported   2 records
      compared   2 rows and as many records: the same, but for
        a: 1 integer as double
      {"a":1.0,"b":"x","c":{"json":"[1,{\"d\":null}]"},"e":null}}
      {"a":2.5,"b":null,"c":null,"e":true}}

      """#
    try expect(script, .init(2, out: expected, err: "notelog: error: line 1: it is no object\n"))
  }
}
