// Dates on a command line: what is taken, and as what; all else is refused.
import Foundation
import NotelogTestSupport
import Testing

@testable import NotelogCLI

/// The bug: what `Moment` refused went on to Foundation's parser, which stops where it likes and carries days
/// and hours over. `2026-11-26 10:00` became midnight, and `2026-02-30` the second of March.
@Suite struct DateFormTests {
  static let day = "2026-11-26"

  static let refused: [String] = {
    var texts = [
      "", " ", "junk", "Now", "now ", " now", "26.11.2026", "11/26/2026", "20261126", "2026", "2026-11",
      "2026-1-2", "26-11-26", "-2026-11-26", "+2026-11-26", "2026-W48-4", "2026-330", "2026/11/26",
      "1795687200", "2026-11-26Z", "2026-11-26 ", " 2026-11-26", "2026-11-26\u{301}", "２０２６-11-26",
    ]
    texts += ["02-30", "02-29", "04-31", "11-31", "12-32", "13-01", "00-10", "11-00"].map { "2026-" + $0 }
    let times = [
      "", "10", "1:00:00Z", "10:0:00Z", "10:00:0Z", "10:00Z", "10Z", "100000Z",
      "24:00:00Z",
      "25:00:00Z", "10:60:00Z", "10:00:60Z", "10:00:61Z", "10:00:00.Z", "10:00:00,5Z", "10:00:00.5",
      "-1:00:00Z",
      "10:00:00Z junk", "10:00:00Zjunk", "10:00:00Z ", "10:00:00 Z", "10:00:00UTC", "10:00:00 GMT",
      "10:00:00+24:00",
      "10:00:00+01:60", "10:00:00+1:00", "10:00:00+01", "10:00:00+0100", "10:00:00+01:0", "10:00:00+01:00Z",
      "10:00:00−01:00", "10:00:00+01:00:00", "10:00:00[UTC]", "10:00:00Z[UTC]", "10:00:00 AM",
    ]
    for time in times { texts += ["T", " "].map { day + $0 + time } }
    texts += [day + "  10:00:00Z", day + "_10:00:00Z", day + "TT10:00:00Z", day + "T 10:00:00Z"]
    return texts
  }()

  static let taken: [(String, String)] = [
    ("2026-11-26", "2026-11-26T00:00:00Z"), ("2028-02-29", "2028-02-29T00:00:00Z"),
    ("2026-11-26T10:00:00Z", "2026-11-26T10:00:00Z"), ("2026-11-26 10:00:00Z", "2026-11-26T10:00:00Z"),
    ("2026-11-26t10:00:00z", "2026-11-26T10:00:00Z"), ("2026-11-26T23:59:59.5Z", "2026-11-26T23:59:59.5Z"),
    ("2026-11-26T11:00:00+01:00", "2026-11-26T10:00:00Z"),
    ("2026-11-26T00:30:00+01:00", "2026-11-25T23:30:00Z"),
    ("2026-11-26T04:30:00-05:30", "2026-11-26T10:00:00Z"), ("2026-11-26 10:00", "2026-11-26T10:00:00Z"),
    ("2026-11-26T10:00:00", "2026-11-26T10:00:00Z"),
  ]

  @Test func `a date is taken as it is written, or refused with its form`() throws {
    let bench = try Workbench()
    // By the tool itself a sample is tried: a process each. Nothing is no date, but no value.
    for text in Self.refused { #expect(Moment.seconds(text) == nil, "\(text)") }
    let refused = TestEffort.sample(Self.refused.filter { !$0.isEmpty }, 16)
    try bench.write("refused", refused.joined(separator: "\n") + "\n")
    try bench.write("taken", Self.taken.map(\.0).joined(separator: "\n") + "\n")
    let script = """
      while IFS= read -r text; do
        notelog add my.notelog title=x "time=$text" $quick >id 2>err; [ $? = 64 ] && [ ! -s id ] || echo "taken: '$text'"
        grep -q 'hint: for instance 2026-11-26T10:00:00Z' err || echo "no hint: '$text'"
      done <refused
      while IFS= read -r text; do
        notelog get my.notelog $(notelog add my.notelog title=x "time=$text" $quick) time; echo
      done <taken
      """
    try bench.expect(storePrelude + script, .init(out: Self.taken.map { $0.1 + "\n" }.joined()))
  }

  @Test func `no byte more and no byte less makes another date of one`() {
    let text = "2026-11-26T10:00:00.25+01:00"
    for end in text.indices.dropFirst() where text[..<end] != Self.day {
      #expect(Moment.seconds(String(text[..<end])) == nil, "\(text[..<end])")
    }
    for at in text.indices {
      for other in ["", "x", " ", ":", "-", "\u{0}", "é"] {
        let changed = text[..<at] + other + text[text.index(after: at)...]
        // A space may stand for the T, and an offset have the other sign.
        let isForm =
          other == " " && text[at] == "T" || other == "-" && text[at] == "+" || other == String(text[at])
        let isShorterFraction =
          other == "" && (text[at] == "2" || text[at] == "5") && text[..<at].contains(".")
        #expect((Moment.seconds(String(changed)) == nil) != (isForm || isShorterFraction), "\(changed)")
      }
    }
  }

  @Test func `a condition and a file are read the same way, and other types keep their words`() throws {
    let bench = try Workbench()
    let script = """
      notelog add my.notelog title=x time=2026-11-26T10:00:00Z $quick >/dev/null
      notelog list my.notelog --where 'time>=2026-11-26 23:5'; echo $?
      notelog list my.notelog --field time --where 'time>=2026-11-26' | sed 's/.*\t//'
      printf '2026-02-30\\n' >day
      notelog set my.notelog 00000000-0000-0000-0000-000000000000 time=@day $quick; echo $?
      notelog add my.notelog title=x time=@day $quick; echo $?
      echo '{"collections":[{"name":"a","fields":[{"name":"n","type":"integer"},{"name":"u","type":"unsigned"}]}]}' >s
      notelog init n --schema s $quick --scrypt-log-n 14 2>/dev/null
      notelog add n n=1.5 u=1 $quick; echo $?
      notelog add n n=1 u=-1 $quick; echo $?
      """
    let hint = """
      notelog: error: time takes a date value
      notelog: hint: for instance 2026-11-26T10:00:00Z, 2026-11-26T11:00:00+01:00, local time as 2026-11-26 or 2026-11-26 10:00, or now

      """
    let error =
      hint + "notelog: error: there is no record 00000000-0000-0000-0000-000000000000\n" + hint
      + "notelog: error: n takes an integer value\nnotelog: error: u takes an unsigned value\n"
    try bench.expect(
      storePrelude + script, .init(out: "64\n2026-11-26T10:00:00Z\n1\n64\n64\n64\n", err: error))
  }
}
