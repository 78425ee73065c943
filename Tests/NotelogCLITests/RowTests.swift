// `list` and `search`: the table that people see, and the forms that scripts rely on.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct RowTests {
  let bench: Workbench

  /// Films: sealed titles, a date, a number, texts that are numbers, bytes. Two ids have nine digits in common.
  init() throws {
    bench = try Workbench()
    let answer = try bench.run(
      storePrelude + #"""
        cat >schema <<'END'
        {"collections": [{"name": "film", "fields": [{"name": "title", "type": "text", "sealed": true},
          {"name": "seen on", "type": "date", "optional": true}, {"name": "stars", "type": "integer", "optional": true},
          {"name": "price", "type": "text", "optional": true}, {"name": "poster", "type": "bytes", "optional": true},
          {"name": "text", "type": "text", "sealed": true, "optional": true}]}]}
        END
        notelog init films --schema schema $quick --scrypt-log-n 14 2>/dev/null
        head -c 1600 /dev/zero >poster
        cat >lines <<'END'
        {"id":"aaaaaaaa-1110-0000-0000-000000000001","fields":{"title":"Up","seen on":"2026-11-01T00:30:00Z","stars":5,"price":"10"}}
        {"id":"aaaaaaaa-1210-0000-0000-000000000002","fields":{"title":"千と千尋","seen on":"2026-10-31T23:00:00Z","stars":10,"price":"9","text":"a\tb\\c\nd"}}
        {"id":"bbbbbbbb-0000-0000-0000-000000000003","fields":{"title":"x\u001b[31m\u202ey","stars":-3,"price":"2026"}}
        {"id":"cccccccc-0000-0000-0000-000000000004","fields":{"title":"or stars=5"}}
        END
        notelog import films lines $quick && notelog set films cccc poster=@poster $quick
        """#)
    try #require(answer.code == 0, "\(answer)")
  }

  /// The lines that a script shows on a terminal.
  private func shown(_ script: String, columns: Int = 80, zone: String = "UTC") throws -> [String] {
    let environment = ["COLUMNS": "\(columns)", "TZ": zone, "NO_COLOR": "1"]
    let terminal = try PseudoTerminal(
      "quick='--key-file key'\n" + script, in: bench, environment: environment)
    _ = terminal.finish()
    return terminal.shown.split(separator: "\r\n").map(String.init)
  }

  /// What `list` prints of conditions, the stars of the films found.
  private func stars(_ conditions: String, zone: String = "UTC") throws -> String {
    let script = "TZ=\(zone) notelog list films --key-file key -f stars --sort stars \(conditions) | cut -f2"
    return try bench.run(script).out.replacing("\n", with: " ")
  }

  @Test func `on a terminal a list is a table in local time, with sizes and short ids`() throws {
    let table = """
      id           title                 seen on           stars  price   poster
      aaaaaaaa-11  Up                    2026-11-01 01:30      5  10           -
      aaaaaaaa-12  千と千尋              2026-11-01 00:00     10  9            -
      bbbbbbbb     x\\u{1B}[31m\\u{202E}y  -                    -3  2026         -
      cccccccc     or stars=5            -                     -  -      1.6 KiB

      """
    let lines = table.split(separator: "\n").map(String.init)
    #expect(try shown("notelog list films $quick", zone: "Europe/Berlin") == lines)
    #expect(
      try shown("notelog list films $quick -w stars=99") == ["id  title  seen on  stars  price  poster"])
    #expect(
      try shown("notelog search films p $quick -f title --utc", zone: "Europe/Berlin")
        == ["id           title  seen on           stars  price  poster"].map { $0 }
        + ["aaaaaaaa-11  Up     2026-11-01 00:30      5  10          -"])
  }

  @Test func `a table is cut to the terminal: texts first, then the last columns, and never an id`() throws {
    let narrow = try shown(
      "notelog list films $quick -f title -f text -f price -f 'seen on' --full-ids", columns: 60)
    #expect(
      narrow == [
        "id                                    title                …",
        "aaaaaaaa-1110-0000-0000-000000000001  Up",
        "aaaaaaaa-1210-0000-0000-000000000002  千と千尋",
        "bbbbbbbb-0000-0000-0000-000000000003  x\\u{1B}[31m\\u{202E…",
        "cccccccc-0000-0000-0000-000000000004  or stars=5",
        "notelog: note: not shown, for want of room: text, price, seen on",
      ], "\(narrow.joined(separator: "\n"))")
    #expect(narrow.dropLast().allSatisfy { $0.displayWidth <= 60 })
  }

  @Test func `for scripts nothing is cut, ids are whole, times UTC, and control characters escaped`() throws {
    let rows = """
      aaaaaaaa-1210-0000-0000-000000000002\t2026-10-31T23:00:00Z\t千と千尋\ta\\tb\\\\c\\nd
      bbbbbbbb-0000-0000-0000-000000000003\t\tx\\u{1B}[31m\\u{202E}y\t

      """
    let script = """
      TZ=Europe/Berlin notelog list films --key-file key -f 'seen on' -f title -f text -w 'stars!=5' -w 'stars is not none'
      """
    try bench.expect(script, .init(out: rows))
    #expect(try shown(script + " --tsv").joined(separator: "\n") + "\n" == rows)
    let raw = "notelog list films --key-file key -f text -f title --null -w stars=10"
    try bench.expect(
      raw, .init(out: "aaaaaaaa-1210-0000-0000-000000000002\0a\tb\\c\nd\0千と千尋\0"))
    // On a terminal it is escaped all the same.
    #expect(
      try shown("notelog list films $quick --null -f title -w stars=-3")[0].hasSuffix(
        "\0x\\u{1B}[31m\\u{202E}y\0"))
    let json = try bench.run("notelog list films --key-file key --json -f stars -w stars=5").out
    #expect(
      json.contains(#"{"id":"aaaaaaaa-1110-0000-0000-000000000001","collection":"film","#)
        && json.hasSuffix("\"fields\":{\"stars\":5}}\n"))
    try bench.expect(
      "notelog list films --json --tsv",
      .init(64, err: "notelog: error: --tsv and --json are both given, and one is enough\n"))
    let zero = """
      printf 'a\\0b' | notelog set films cccc text=- --key-file key
      notelog list films --key-file key --null -f text -w 'title=or stars=5'
      """
    let error = try bench.run(zero)
    #expect(error.code == 2 && error.out.isEmpty && error.err.contains("has a text with a zero byte in it"))
  }

  @Test(arguments: [
    // Numbers, also as texts; values that look like conditions.
    ("-w 'stars>5'", "10 "), ("-w 'stars in 5..10'", "5 10 "), ("-w 'stars in ..5'", "-3 5 "),
    ("-w 'stars in 5..'", "5 10 "), ("-w 'stars in 10'", "10 "), ("-w 'stars >= 5'", "5 10 "),
    ("-w 'price>9' -w 'price<100'", "5 "), ("-w 'price in 9..10'", "5 10 "),
    ("-w 'title=or stars=5'", " "), ("-w 'title= Up'", ""), ("-w 'title = Up'", "5 "),
    // None, and, or.
    ("-w 'stars is none'", " "), ("-w 'stars is null'", " "), ("-w 'stars is not null'", "-3 5 10 "),
    ("-w 'title contains uP'", "5 "), ("-w 'title contains ü'", "5 "), ("-w 'title contains '", " -3 5 10 "),
    ("-w 'stars is not none'", "-3 5 10 "), ("-w 'text is none'", " -3 5 "),
    ("-w stars=5 --or stars=10", "5 10 "), ("-w stars=5 --or stars=10 -w 'title!=Up'", "10 "),
    ("-w 'title!=Up' -w stars=5 --or stars=10 --or 'stars is none'", " 10 "),
    // Dates and ranges of them.
    ("-w 'seen on in 2026-11'", "5 "), ("-w 'seen on in 2026'", "5 10 "), ("-w 'seen on=2026-10-31'", "10 "),
    ("-w 'seen on!=2026-10-31' -w 'stars in 0..'", "5 "), ("-w 'seen on<2026-11-01'", "10 "),
    ("-w 'seen on<=2026-11-01'", "5 10 "), ("-w 'seen on>2026-10-31'", "5 "), ("-w 'seen on>2026-10'", "5 "),
    ("-w 'seen on in 2026-10-31..2026-11-01'", "5 10 "), ("-w 'seen on in ..2026-10'", "10 "),
    ("-w 'seen on in 2026-11-01 00:30'", "5 "), ("-w 'seen on>=2026-11-01T00:30:00Z'", "5 "),
    ("-w 'seen on>2026-11-01T00:30:00Z'", ""),
  ])
  func `conditions find what they say`(conditions: String, expected: String) throws {
    #expect(try stars(conditions) == expected)
  }

  @Test func `a day is one of the local time, or of UTC where that is said`() throws {
    #expect(try stars("-w 'seen on in 2026-11'", zone: "Europe/Berlin") == "5 10 ")
    #expect(try stars("-w 'seen on in 2026-11' --utc", zone: "Europe/Berlin") == "5 ")
    #expect(try stars("-w 'seen on in 2026-11'", zone: "America/New_York") == "")
    let script = """
      export TZ=America/New_York
      notelog add films title=day 'seen on=2026-11-26' --key-file key >id
      notelog list films --key-file key -f 'seen on' -w title=day | cut -f2
      notelog list films --key-file key -f title -w 'seen on=2026-11-26' | cut -f2
      """
    try bench.expect(script, .init(out: "2026-11-26T05:00:00Z\nday\n"))
  }

  @Test(arguments: [
    ("stars", "'stars' is no condition"), ("stars is", "'stars is' is no condition"),
    ("stars in ..", "'stars in ..' is no condition"),
    ("stars contains 5", "'stars contains 5' is no condition"), ("=5", "'=5' is no condition"),
    ("stras>5", "'film' has no field 'stras'"), ("stars in 1..x", "stars takes an integer value"),
    ("seen on in 2026-13", "seen on takes a date value"), ("seen on=2026-1", "seen on takes a date value"),
  ])
  func `what is no condition is named`(condition: String, message: String) throws {
    let answer = try bench.run("notelog list films --key-file key -w '\(condition)'")
    #expect(answer.out.isEmpty && answer.err.hasPrefix("notelog: error: \(message)\n"), "\(answer)")
  }

  @Test func `--or needs a --where before it`() throws {
    let answer = try bench.run("notelog list films --key-file key --or stars=5 -w stars=10")
    #expect(answer.code == 64 && answer.err.contains("--or stands behind the --where"))
  }

  @Test func `fields are named with commas between them, and a search has a collection and an order`() throws
  {
    let script = """
      printf '"a,b",title,stars\\nx,Bread,2\\ny,bread roll,10\\nz,Cake,1\\n' >t.csv
      notelog import my.notelog t.csv --into cakes --seal title --yes $quick >/dev/null
      notelog add my.notelog note title=Bread body=note time=2026-11-26 $quick >/dev/null
      notelog list my.notelog note -f title,body,time $quick | cut -f2-
      notelog list my.notelog cakes -f 'a,b' -f stars,title --sort stars $quick | cut -f2-
      for in in '' '--in cakes' '--in note'; do notelog find my.notelog bread -i $in --sort title:desc $quick | cut -f3-; done
      notelog find my.notelog read --in cakes --sort stars:desc --limit 1 $quick | cut -f3-
      notelog find my.notelog x --in cakes -f title,stars $quick; echo $?; notelog find my.notelog x --in cake $quick; echo $?
      notelog list my.notelog note -f title, $quick; echo $?
      """
    let out = """
      Bread\tnote\t2026-11-26T00:00:00Z
      z\t1\tCake
      x\t2\tBread
      y\t10\tbread roll
      Bread
      bread roll\t10
      Bread\t2
      bread roll\t10
      Bread\t2
      Bread
      bread roll\t10
      1
      1
      2

      """
    let err = """
      notelog: error: the store has no collection 'cake'
      notelog: hint: did you mean 'cakes'?
      notelog: error: 'note' has no field ''
      notelog: hint: its fields are: time, title, body

      """
    try bench.expect(storePrelude + script, .init(out: out, err: err))
  }
}

// MARK: - Ids by their first digits.

@Suite struct ShortIDTests {
  let bench: Workbench

  init() throws {
    bench = try Workbench()
    let answer = try bench.run(
      storePrelude + #"""
        cat >lines <<'END'
        {"id":"aaaaaaaa-1110-0000-0000-000000000001","fields":{"title":"One"}}
        {"id":"aaaaaaaa-1210-0000-0000-000000000002","fields":{"title":"Two\u001b[2J"}}
        {"id":"bbbbbbbb-0000-0000-0000-000000000003","fields":{"title":"Three"}}
        END
        notelog import my.notelog lines $quick
        """#)
    try #require(answer.code == 0, "\(answer)")
  }

  /// In Santiago clocks go from midnight to one. The bug: such a day began on the day before.
  @Test func `a day without a midnight begins when its first hour does`() throws {
    let script = """
      quick="--key-file key"; export TZ='<-04>4<-03>,M9.1.6/24,M4.1.6/24'
      notelog list my.notelog $quick -w 'time=2026-09-05' | wc -l
      id=$(notelog add my.notelog time=2026-09-06 $quick); notelog get my.notelog $id time $quick; echo
      notelog list my.notelog $quick -w 'time=2026-09-06' | wc -l
      notelog list my.notelog $quick -w 'time=2026-09-05' | wc -l
      """
    try bench.expect(script, .init(out: "0\n2026-09-06T04:00:00Z\n1\n0\n"))
  }

  @Test func `an id is taken by its first digits wherever one is asked for`() throws {
    let script = """
      quick="--key-file key"
      notelog get my.notelog bbbb title $quick; echo
      notelog get my.notelog BBBB-BBBB title $quick; echo
      notelog get my.notelog aaaaaaaa-12 title $quick | od -An -c | tr -d ' '
      notelog set my.notelog aaaaaaaa11 title=Uno $quick
      notelog get my.notelog aaaaaaaa-1110-0000-0000-000000000001 title $quick; echo
      notelog remove my.notelog aaaaaaaa-11 bbbb >/dev/null; notelog list my.notelog $quick -f title | wc -l
      notelog get my.notelog aaaa $quick | wc -l
      """
    try bench.expect(script, .init(out: "Three\nThree\nTwo033[2J\nUno\n1\n3\n"))
  }

  @Test func `digits that several ids begin with name them, with titles where they can be read`() throws {
    let both = """
      notelog: candidate: aaaaaaaa-11  One
      notelog: candidate: aaaaaaaa-12  Two\\u{1B}[2J
      notelog: error: 2 ids begin with aaaa
      notelog: hint: give more digits

      """
    try bench.expect("notelog get my.notelog aaaa --key-file key", .init(64, err: both))
    let locked = both.replacing("  One", with: "  ").replacing("  Two\\u{1B}[2J", with: "  ")
    try bench.expect("notelog get my.notelog aaaa", .init(64, err: locked))
    // Nothing is removed where one of several is not clear, or not there.
    try bench.expect(
      "notelog remove my.notelog bbbb aaaa 2>/dev/null; echo $?; notelog remove my.notelog bbbb cccc; echo $?; "
        + "notelog list my.notelog -f time | wc -l",
      .init(out: "64\n1\n3\n", err: "notelog: error: there is no record whose id begins with cccc\n"))
    for wrong in ["aaa", "xyz1", "aaaaaaaa-1110-0000-0000-0000000000010", "-", ""] {
      let answer = try bench.run("notelog get my.notelog -- '\(wrong)'")
      #expect(answer.code == 64 && answer.err.hasPrefix("notelog: error: '\(wrong)' is not an id\n"))
    }
  }

  @Test func `add prints a short id on a terminal, and a whole one to scripts`() throws {
    let terminal = try PseudoTerminal(
      "notelog add my.notelog title=x --key-file key; notelog add my.notelog title=x --full-ids --key-file key",
      in: bench)
    #expect(terminal.finish() == 0)
    #expect(terminal.shown.split(separator: "\r\n").map(\.count) == [8, 36], "\(terminal.shown)")
    #expect(try bench.run("notelog add my.notelog title=x --key-file key").out.count == 37)
  }
}

// MARK: - How wide a text is on a terminal, and which time a text names.

@Suite struct DisplayWidthTests {
  @Test(arguments: [
    ("", 0), ("abc", 3), ("é", 1), ("e\u{301}", 1), ("日本", 4), ("ｱ", 1), ("한", 2),
    ("\u{1112}\u{1161}\u{11AB}", 2),
    ("🙂", 2), ("❤\u{FE0F}", 2), ("❤", 1), ("🇫🇷", 2), ("a\u{200B}b", 2), ("א", 1), ("…", 1), ("ａ", 2),
    ("\u{20000}", 2), ("“", 1), ("\u{302A}", 0),
  ])
  func `a text has the width that terminals give it`(text: String, width: Int) {
    #expect(text.displayWidth == width)
  }

  @Test(arguments: [
    ("abcdef", 6, "abcdef"), ("abcdef", 5, "abcd…"), ("日本語", 5, "日本…"), ("日本語", 4, "日…"),
    ("e\u{301}e\u{301}e\u{301}", 2, "e\u{301}…"), ("abc", 1, "…"),
  ])
  func `a cut text fits, and no character is cut in two`(text: String, width: Int, cut: String) {
    #expect(text.cut(to: width) == cut && cut.displayWidth <= width)
  }

  @Test(arguments: [
    (0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (1600, "1.6 KiB"), (10_200, "10 KiB"),
    (1_048_575, "1.0 MiB"),
    (17_000_000, "16 MiB"), (Int.max, "8388608 TiB"),
  ])
  func `bytes have a size that a person reads`(count: Int, shown: String) {
    #expect(byteCountShown(count) == shown)
  }

  @Test(arguments: [
    ("2026", "2026-01-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    ("2028-02", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"),
    ("2026-12", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"),
    ("2026-12-31", "2026-12-31T00:00:00Z", "2027-01-01T00:00:00Z"),
    ("2026-11-26 23:59", "2026-11-26T23:59:00Z", "2026-11-27T00:00:00Z"),
    ("2026-11-26T10:00:59", "2026-11-26T10:00:59Z", "2026-11-26T10:01:00Z"),
    ("2026-11-26T10:00:00+01:00", "2026-11-26T09:00:00Z", "2026-11-26T09:00:00Z"),
  ])
  func `a year, a month, a day, a minute and a second have an end`(text: String, start: String, end: String)
    throws
  {
    let period = try #require(Moment.period(text, isUTC: true))
    #expect(Moment.text(period.lowerBound) == start && Moment.text(period.upperBound) == end)
    #expect(Moment.period("9999", isUTC: true)?.isEmpty == false)
  }
}
