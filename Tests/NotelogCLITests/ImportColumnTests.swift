// `import --from`: which columns are numbers, what goes into a collection that is there, and what is compared
// before anything is added.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct ImportColumnTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(storePrelude + script, expected, input: "", location)
  }

  /// The bug: whatever Swift reads as a double was one. Codes lost their zeros, and the comparison found them
  /// all the same, as it compared what it had read with what it had read.
  @Test
  func `a column is a number only where each value is printed as it was written, or is the same number`()
    throws
  {
    try bench.write(
      "codes.csv",
      """
      customer,zip,long,exponent,plus,price,hex,minus,count,ratio,far,quoted,word,ok
      00712345,01067,12345678901234567890,1E5,+5,1.50,0x10,-0,10,2.5,1e+16,"7","",true
      00700001,,12345678901234567891,2E5,+6,,0x11,,-7,-0.0,2.0,8,x,false
      ,,,,,,,,,,,,,

      """)
    let types = """
      text text text text text text text text integer double double integer text boolean
      """.split(separator: " ")
    let names = "customer zip long exponent plus price hex minus count ratio far quoted word ok".split(
      separator: " ")
    let samples = #"00712345 01067 12345678901234567890 1E5 +5 1.50 0x10 -0 10 2.5 1e+16 7 "" true"#
      .split(separator: " ")
    let proposal = zip(names, zip(types, samples)).map { name, rest in
      "  \(name)\(String(repeating: " ", count: 8 - name.count))  \(rest.0), plain, optional; for instance \(rest.1)\n"
    }.joined()
    let script = """
      notelog import nothing.notelog codes.csv --from csv --propose
      notelog import my.notelog codes.csv --from csv --plain '' --yes $quick | tail -n 1
      notelog export my.notelog codes --as csv $quick | cut -d, -f2- | tr -d '\\r' | sed 's/,"7",/,7,/' >out
      sed 's/,"7",/,7,/' codes.csv | cmp - out && echo same
      """
    try expect(
      script,
      .init(
        out: "collection codes, 3 rows\n" + proposal
          + "compared   3 rows and as many records: all the same\nsame\n"))
  }

  /// The bug: whole numbers beside decimal ones were text, in CSV, and 'Age>60' found children; in JSON lines
  /// numbers became text, and doubles, and "all the same" was said of that.
  @Test
  func
    `numbers that become another kind are said, before and after, and a filter that takes them for text says so`()
    throws
  {
    try bench.write(
      "t.csv",
      """
      Age,Ticket,Id,Note
      22,A/5 21171,9007199254740993,x
      14.5,349909,1.5,
      62,17.5,2,y
      7,x,3,

      """)
    let script = #"""
      notelog import my.notelog t.csv --from csv --propose
      notelog import my.notelog t.csv --from csv --plain Age,Ticket,Id --yes $quick | tail -n +6
      notelog list my.notelog t -w 'Age>10' --sort Age -f Age $quick | sed 's/.*\t//'
      notelog list my.notelog t -w 'Ticket>60' -f Ticket $quick | sed 's/.*\t//' | sort
      notelog list my.notelog t -w 'Ticket=349909' -w 'Ticket>A' -f Ticket $quick | wc -l
      printf '{"a":1,"b":true,"c":12345678901234567890,"d":1,"e":5}\n{"a":"x","b":2,"c":1,"d":2.5,"e":5.0}\n' >u.jsonl
      notelog import my.notelog u.jsonl --from jsonl --plain a,b,c,d,e --yes $quick
      """#
    let changes = [
      "Age: 3 integers as double", "Ticket: 1 integer and 1 double as text",
      "Id: 3 integers and 1 double as text",
    ]
    let expected = """
      collection t, 4 rows
        Age     double, plain; 3 integers as double; for instance 22.0
        Ticket  text, plain; 1 integer and 1 double as text; for instance A/5 21171
        Id      text, plain; 3 integers and 1 double as text; for instance 9007199254740993
        Note    text, plain, optional; for instance x
      imported   4 records
      compared   4 rows and as many records: the same, but for
        \(changes.joined(separator: "\n  "))
      14.5
      22.0
      62.0
      349909
      A/5 21171
      x
      0
      collection u, 2 rows
        a  text, plain; 1 integer as text
        b  text, plain; 1 integer and 1 boolean as text
        c  text, plain; 1 integer and 1 long number as text
        d  double, plain; 1 integer as double
        e  double, plain; 1 integer as double
      imported   2 records
      compared   2 rows and as many records: the same, but for
        a: 1 integer as text
        b: 1 integer and 1 boolean as text
        c: 1 integer and 1 long number as text
        d: 1 integer as double
        e: 1 integer as double

      """
    try expect(script, .init(out: expected))
  }

  @Test func `a number of JSON that no number keeps is text`() throws {
    try bench.write(
      "t.jsonl",
      """
      {"a":12345678901234567890,"b":9007199254740993,"c":9007199254740993,"d":1.50,"e":1e999}
      {"a":1,"b":2.5,"c":1,"d":1e2,"e":1}

      """)
    let script = """
      notelog import my.notelog t.jsonl --from jsonl --plain '' --yes $quick | sed 's/,.*//'
      notelog export my.notelog t --as csv $quick | cut -d, -f2- | tr -d '\\r'
      """
    let expected = """
      collection t
        a  text
        b  text
        c  integer
        d  double
        e  text
      imported   2 records
      compared   2 rows and as many records: the same
        a: 1 integer and 1 long number as text
        b: 1 integer and 1 double as text
        e: 1 integer and 1 long number as text
      a,b,c,d,e
      12345678901234567890,9007199254740993,9007199254740993,1.5,1e999
      1,2.5,1,100.0,1

      """
    try expect(script, .init(out: expected))
  }

  private static let people = """
    {"collections":[{"name":"person","fields":[{"name":"name","type":"text"},{"name":"born","type":"date"},
      {"name":"count","type":"integer","optional":true},{"name":"small","type":"unsigned","optional":true},
      {"name":"ratio","type":"double","optional":true},{"name":"ok","type":"boolean","optional":true},
      {"name":"uid","type":"uuid","optional":true},{"name":"photo","type":"bytes","sealed":true,"optional":true},
      {"name":"site","type":"url","optional":true},{"name":"more","type":"json","optional":true}]}]}
    """

  private static let peopleStore = """
    printf 'open sesame\\n' >password
    quick="--password-file password"
    notelog init p --schema people.json $quick --scrypt-log-n 14 2>/dev/null

    """

  /// The bug: text of a column was refused by a field of another type, with the words that there is no such
  /// field.
  @Test func `columns go into the fields that are there, by their types`() throws {
    try bench.write("people.json", Self.people)
    try bench.write(
      "person.csv",
      #"""
      name,born,count,small,ratio,ok,uid,photo,site,more
      Ada,1815-12-10,5,18446744073709551615,1.50,1,D4E89130-4084-4CA1-9C80-1C0DE5A40001,AP8=,https://example.org/a,"{""a"": 1}"
      ,2001-01-01T01:00:00+01:00,,,7,false,,,,

      """#)
    let script = """
      notelog import p person.csv --from csv --yes $quick
      notelog export p --as jsonl $quick | sed 's/.*"fields"://' | sort
      notelog import p person.csv --from csv --yes $quick | tail -n 4
      printf '{"name":"Bob","born":"2026-11-26","count":5,"photo":{"base64":"AA=="}}\\n' >b.jsonl
      notelog import p b.jsonl --from jsonl --into person --yes $quick | tail -n 1
      """
    let expected = #"""
      collection person, which is there, 2 rows
        name   text, plain
        born   date, plain
        count  integer, plain, optional
        small  unsigned, plain, optional
        ratio  double, plain, optional; 1 integer as double
        ok     boolean, plain, optional; 1 integer as boolean
        uid    uuid, plain, optional
        photo  bytes, sealed, optional
        site   url, plain, optional
        more   json, plain, optional
      imported   2 records
      compared   2 rows and as many records: the same, but for
        ratio: 1 integer as double
        ok: 1 integer as boolean
      {"name":"","born":"2001-01-01T00:00:00Z","count":null,"small":null,"ratio":7.0,"ok":false,"uid":null,"photo":null,"site":null,"more":null}}
      {"name":"Ada","born":"1815-12-10T00:00:00Z","count":5,"small":18446744073709551615,"ratio":1.5,"ok":true,"uid":"d4e89130-4084-4ca1-9c80-1c0de5a40001","photo":{"base64":"AP8="},"site":"https://example.org/a","more":{"json":"{\"a\": 1}"}}}
      imported   0 records, 2 were there
      compared   2 rows and as many records: the same, but for
        ratio: 1 integer as double
        ok: 1 integer as boolean
      compared   1 row and as many records: all the same

      """#
    try bench.expect(Self.peopleStore + script, .init(out: expected))
  }

  @Test func `a value that does not fit is named, and nothing is imported`() throws {
    try bench.write("people.json", Self.people)
    let wrong = [
      ("born", "2026-02-30", "'2026-02-30' is not a date value"),
      ("born", "now", "'now' is not a date value"),
      ("born", "", "there is no value, and the field is not optional"),
      ("count", "007", "'007' is not an integer value"), ("count", "1.0", "'1.0' is not an integer value"),
      ("small", "-1", "'-1' is not an unsigned value"), ("ratio", "0x10", "'0x10' is not a double value"),
      ("ratio", "NaN", "'NaN' is not a double value"), ("ratio", "1e999", "'1e999' is not a double value"),
      ("ok", "yes", "'yes' is not a boolean value"), ("uid", "5", "'5' is not a uuid value"),
      ("photo", "AP8", "the value is not a bytes value"), ("photo", "AP9=", "the value is not a bytes value"),
      ("site", "a b", "'a b' is not a url value"), ("more", "{", "'{' is not a json value"),
    ]
    var script = Self.peopleStore
    for (column, value, _) in wrong {
      let names = column == "born" ? "name,born" : "name,born,\(column)"
      let before = column == "born" ? "" : "2001-01-01,"
      script += """
        printf '\(names)\\nAda,2001-01-01\(column == "born" ? "" : ",")\\nBob,\(before)\(value)\\n' >t.csv
        notelog import p t.csv --from csv --into person --yes $quick >/dev/null; echo $?

        """
    }
    script += """
      printf 'nam\\nx\\n' >t.csv
      notelog import p t.csv --from csv --into person --yes $quick; echo $?
      printf 'name,born\\nx,2001-01-01\\n' >t.csv
      notelog import p t.csv --from csv --into person --seal name --yes $quick; echo $?
      notelog list p person $quick
      """
    let errors = wrong.map { "notelog: error: row 2, column '\($0.0)': \($0.2)\n" }.joined()
    let rest = """
      notelog: error: the collection 'person' is there, and has no field 'nam'
      notelog: hint: did you mean 'name'? rename the column, or take the table --into another collection
      notelog: error: 'name' of the collection 'person', which is there, is not sealed
      notelog: hint: --into another collection, or without --seal name

      """
    try bench.expect(
      script, .init(out: String(repeating: "2\n", count: wrong.count + 2), err: errors + rest))
  }

  /// The bug: what was there was compared only after the rest had been added, so that a changed table left
  /// half an import.
  @Test(.enabled(if: TransferTests.hasSQLite))
  func `a table that changed since it was imported adds nothing, and the row is named`()
    throws
  {
    let id = #"[0-9a-f]\{8\}-[0-9a-f-]\{27\}"#
    let script = """
      make() { rm -f app.db; sqlite3 app.db "CREATE TABLE app (name TEXT, n INTEGER); INSERT INTO app VALUES $1"; }
      import="notelog import my.notelog app.db --seal n --yes $quick"
      make "('Ada', 1), ('Eve', NULL)"; $import | tail -n 1
      said() { $import >out 2>err; echo $?; tail -n +4 out; sed 's/\(id)/ID/g' err; notelog list my.notelog app -f name $quick | sed 's/.*\t//' | sort | tr '\\n' ' '; echo; }
      make "('Bob', 1), ('Eve', NULL), ('Cyd', 3)"; said
      make "('Ada', 1), ('Eve', 5), ('Cyd', 3)"; said
      make "('Ada', 1)"; said
      make "('Ada', 1), ('Eve', NULL), ('Cyd', 3)"; said
      make "('Ada', 1), ('Eva', NULL), ('Cyd', 3)"; said
      $(sed -n "s/.*'notelog get STORE \\(.*\\)'.*/notelog remove my.notelog \\1/p" err) $quick >/dev/null
      said
      """
    func refusal(_ what: String, _ why: String) -> String {
      """
      notelog: error: \(what); nothing was imported
      notelog: hint: 'notelog get STORE ID' shows \(why) and import again; otherwise take the table --into another collection

      """
    }
    let differs = " differs from the record that was imported before"
    let expected =
      "compared   2 rows and as many records: all the same\n2\n"
      + refusal("'name' of row 1" + differs, "the record: where the row is right, remove that")
      + "Ada Eve \n2\n" + refusal("'n' of row 2" + differs, "the record: where the row is right, remove that")
      + "Ada Eve \n2\n"
      + refusal(
        "row 2 was imported before, and is in the table no more",
        "its record: where that is to go too, remove it")
      + "Ada Eve \n0\nimported   1 record, 2 were there\ncompared   3 rows and as many records: all the same\nAda Cyd Eve \n2\n"
      + refusal("'name' of row 2" + differs, "the record: where the row is right, remove that")
      + "Ada Cyd Eve \n0\nimported   1 record, 2 were there\ncompared   3 rows and as many records: all the same\nAda Cyd Eva \n"
    try expect(script, .init(out: expected))
  }

  @Test func `a table with semicolons or tabs is refused, and a quoted name is one`() throws {
    let script = """
      printf 'name;n\\nx;1\\n' >t.csv; notelog import my.notelog t.csv --from csv --propose; echo $?
      printf 'name\\tn\\nx\\t1\\n' >t.csv; notelog import my.notelog t.csv --from csv --propose 2>&1 >/dev/null | head -n 1
      printf '"name;n"\\nx\\n' >t.csv; notelog import my.notelog t.csv --from csv --propose
      """
    let expected = """
      2
      notelog: error: the names in the first line are separated by tabs
      collection t, 1 row
        name;n  text, plain; for instance x

      """
    let error = """
      notelog: error: the names in the first line are separated by semicolons
      notelog: hint: values are separated by commas: export them so, or put the one name in quotation marks

      """
    try expect(script, .init(out: expected, err: error))
  }
}
