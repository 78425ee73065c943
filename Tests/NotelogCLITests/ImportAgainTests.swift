// `import` into what is there: lines change the fields that they name, files are known by their content, and rows
// with ids of their own replace records where that is asked for.
import Foundation
import Testing

@Suite struct ImportAgainTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private static let prelude = """
    notelog init s --schema s.json $quick
    imp() { notelog import s $quick; echo $?; }
    all() { notelog export s --as jsonl $quick | sed 's/.*"fields"://'; }

    """

  private func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.write(
      "s.json",
      """
      {"collections":[{"name":"item","fields":[{"name":"name","type":"text"},{"name":"time","type":"date"},
        {"name":"count","type":"integer"},{"name":"note","type":"text","optional":true},
        {"name":"photo","type":"bytes","sealed":true,"optional":true}]}]}
      """)
    try bench.expect(storePrelude + Self.prelude + script, expected, input: "", location)
  }

  /// The bug: what a line left out was lost, also where it was a field that is not optional, or a value that the
  /// export had left out because of its length.
  @Test func `a line of a record that is there changes the fields that it names`() throws {
    let script = #"""
      head -c 17000000 /dev/urandom >long
      id=$(notelog add s name=Ada time=2001-01-01 count=1 note=hello $quick); notelog set s $id photo=@long $quick
      notelog export s --as jsonl $quick 2>/dev/null | sed 's/Ada/Eve/' >lines; notelog import s lines $quick; echo $?
      notelog list s --json -f count $quick | sed 's/"count":1/"count":2/' | imp
      all 2>/dev/null; notelog get s $id photo $quick | cmp - long && echo same
      echo '{"id":"'$id'","fields":{"note":null}}' | imp; all 2>/dev/null
      for field in time name; do echo '{"id":"'$id'","fields":{"'$field'":null,"count":5}}' | imp; done
      all 2>/dev/null
      """#
    func record(_ count: Int, _ note: String) -> String {
      "{\"name\":\"Eve\",\"time\":\"2001-01-01T00:00:00Z\",\"count\":\(count),\"note\":\(note)}}\n"
    }
    let (before, after) = (record(2, "\"hello\""), record(2, "null"))
    let err = """
      notelog: error: line 1: 'time' is not optional: give it a date value
      notelog: error: line 1: 'name' is not optional: give it a text value

      """
    try expect(script, .init(out: "0\n0\n" + before + "same\n0\n" + after + "2\n2\n" + after, err: err))
  }

  @Test func `a new record needs what is not optional, and a record without a value comes back without it`()
    throws
  {
    let script = #"""
      echo '{"fields":{"name":"Ada"}}' | imp; echo '{"fields":{"count":1}}' | imp
      all | sed 's/"time":"20[^"]*"/TIME/'; notelog list s --json -f note -f count $quick | sed 's/.*"fields"://'
      echo '{"id":"00000000-0000-4000-8000-000000000001","fields":{"name":null,"time":null,"count":2}}' | imp
      notelog dump s --json $quick | sed 's/"revision":[0-9]*/R/' | sort >first
      notelog init t --schema s.json $quick; notelog dump s --json $quick | notelog import t $quick
      notelog dump t --json $quick | sed 's/"revision":[0-9]*/R/' | sort | cmp - first && wc -l <first
      notelog dump s --json | sed 's/.*"fields"://' | grep -c '"photo":null'
      """#
    let out = """
      2
      0
      {"name":null,TIME,"count":1,"note":null,"photo":null}}
      {"note":null,"count":1}}
      0
      2
      2

      """
    try expect(
      script,
      .init(out: out, err: "notelog: error: line 1: 'count' is not optional: give it an integer value\n"))
  }

  /// The bug: rows were known by the file's name and their numbers, so that those of another month's file were
  /// taken for those that were there.
  @Test(arguments: ["csv", "jsonl"])
  func `rows are known by the file's content, so that another file's are new`(kind: String) throws {
    let (first, second) =
      kind == "csv"
      ? (#"day,n\na,1\nb,2\n"#, #"day,n\na,1\nc,3\nd,4\n"#)
      : (
        #"{"day":"a","n":1}\n{"day":"b","n":2}\n"#,
        #"{"day":"a","n":1}\n{"day":"c","n":3}\n{"day":"d","n":4}\n"#
      )
    let script = """
      mkdir may june; printf '\(first)' >may/acc.\(kind); printf '\(second)' >june/acc.\(kind); cp may/acc.\(kind) copy.\(kind)
      import() { notelog import s --yes --plain day,n "$@" $quick | grep -v '^ \\|^coll'; }
      import may/acc.\(kind); import june/acc.\(kind); import may/acc.\(kind); import copy.\(kind) --into acc; import --into acc <may/acc.\(kind)
      notelog list s acc -f day $quick | sort | cut -f2 | tr '\\n' ' '
      """
    func said(_ count: Int, _ known: String = "") -> String {
      "imported   \(known.isEmpty ? count : 0) records\(known)\ncompared   \(count) rows and as many records: all the same\n"
    }
    let again = said(2, ", 2 were there")
    let answer = try bench.run(storePrelude + "notelog init s --empty $quick\n" + script)
    #expect(answer.err == "")
    let out = said(2) + said(3) + again + again + again
    #expect(answer.out.hasPrefix(out), "\(answer.out)")
    // The rows of a file are in their order.
    #expect(["a b a c d ", "a c d a b "].contains(answer.out.dropFirst(out.count)), "\(answer.out)")
  }

  @Test(.enabled(if: TransferTests.hasSQLite))
  func `a day is that of the place, unless UTC is asked for, and is the day that a list shows`() throws {
    let script = #"""
      export TZ=America/New_York
      printf 'name,time,count\nAda,2024-05-02,1\n' >item.csv; echo '{"name":"Bob","time":"2024-05-02","count":2}' >item.jsonl
      sqlite3 item.db "CREATE TABLE item (name TEXT, time DATE, count INTEGER); INSERT INTO item VALUES ('Cyd', '2024-05-02', 3)"
      for file in item.csv item.jsonl item.db; do notelog import s $file --yes $quick >/dev/null; done
      echo '{"fields":{"name":"Dee","time":"2024-05-02","count":4}}' | notelog import s $quick
      notelog add s name=Eve time=2024-05-02 count=5 $quick >/dev/null
      sed 's/Ada/Fay/; s/,1$/,6/' item.csv >u.csv; notelog import s u.csv --into item --utc --yes $quick >/dev/null
      notelog import s item.csv --into new --type time=date --plain name,time,count --yes $quick >/dev/null
      echo '{"collection":"item","fields":{"name":"Gus","time":"2024-05-02","count":7}}' | notelog import s --utc $quick
      notelog list s item --sort count -f name -f time $quick | cut -f2-; notelog list s new -f time $quick | cut -f2
      notelog list s item -w 'time=2024-05-02' -w name=Ada -f name $quick | cut -f2
      """#
    let names = ["Ada", "Bob", "Cyd", "Dee", "Eve", "Fay", "Gus"]
    let rows = names.map { "\($0)\t2024-05-02T0\($0 == "Fay" || $0 == "Gus" ? 0 : 4):00:00Z\n" }.joined()
    try expect(script, .init(out: rows + "2024-05-02T04:00:00Z\nAda\n"))
  }

  /// The bug: a table that an export had printed and another program had changed could not come back.
  @Test func `rows with ids of their own replace records where that is asked for`() throws {
    let script = #"""
      for n in 1 2 3; do echo '{"id":"5a1ba6e0-0000-4000-8000-00000000000'$n'","fields":{"name":"n'$n'","time":"2001-01-01","count":'$n',"photo":{"base64":"AA=="}}}'; done | imp
      notelog export s --as csv $quick | cut -d, -f1-5 | sed 's/n2/two/; s/3,$/33,new/; $a5a1ba6e0-0000-4000-8000-000000000004,n4,2001-01-01T00:00:00Z,4,' | tr -d '\r' >item.csv
      notelog import s item.csv --yes $quick >/dev/null; echo $?
      notelog import s item.csv --yes --replace $quick | tail -n 2; notelog import s item.csv --yes --replace $quick | grep imported
      all
      cut -d, -f2- item.csv >none.csv; notelog import s none.csv --into item --yes --replace $quick; echo $?
      notelog import s --replace <s.json $quick; echo $?
      """#
    func record(
      _ name: String, _ count: Int, _ note: String = "null", _ photo: String = #"{"base64":"AA=="}"#
    )
      -> String
    {
      #"{"name":"\#(name)","time":"2001-01-01T00:00:00Z","count":\#(count),"note":\#(note),"photo":\#(photo)}}"#
        + "\n"
    }
    let out =
      "0\n2\nimported   1 record, 3 were there, 2 of them replaced\ncompared   4 rows and as many records: all the same\n"
      + "imported   0 records, 4 were there\n" + record("n1", 1) + record("two", 2)
      + record("n3", 33, "\"new\"")
      + record("n4", 4, "null", "null") + "64\n64\n"
    let err = """
      notelog: error: 'name' of row 2 differs from the record that is there; nothing was imported
      notelog: hint: with --replace, rows take the place of the records that have their ids
      notelog: error: --replace is for rows with ids of their own, and those of 'item' have none
      notelog: error: --replace is for tables, and these are lines of dump --json

      """
    try expect(script, .init(out: out, err: err))
  }

  @Test func `a number is decimal and finite, to add as to import`() throws {
    let schema = #"{"collections":[{"name":"a","fields":[{"name":"d","type":"double","optional":true}]}]}"#
    try bench.write("d.json", schema)
    let script = """
      notelog init d --schema d.json $quick
      for number in 1e400 0x10 NaN infinity 1e5 -0.5 5; do notelog add d d=$number $quick >/dev/null 2>&1; echo $?; done
      notelog list d -f d --sort d:asc $quick | cut -f2
      """
    try expect(script, .init(out: "64\n64\n64\n64\n0\n0\n0\n-0.5\n5.0\n100000.0\n"))
  }
}
