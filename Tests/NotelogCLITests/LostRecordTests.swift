// What is said of records that are lost: each is counted once, everywhere alike, and named where anything
// names it.
import Foundation
import Testing

@Suite struct LostRecordTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Four hundred notes in several segments, their dump, and what a command says of how many are lost.
  private static let prelude =
    storePrelude + #"""
      for i in $(seq 400); do printf '{"fields":{"title":"%s","body":"%0300d"}}\n' $i $i; done |
        notelog import my.notelog $quick --segment-size 64K --batch 20
      notelog dump --json my.notelog >all
      finished=my.notelog/000000000002.journal
      # counts: how many are gone, and how many say info, dump, list and verify
      counts() {
        notelog dump --json my.notelog >some 2>said; grep -vFf some all | sed 's/.*"id":"\([^"]*\)".*/\1/' | sort >gone
        wc -l <gone
        notelog info my.notelog 2>&1 | sed -n 's/^damage.* \([0-9]*\) records known.*/info \1/p; s/.*damaged: \([0-9]*\) records.*/\1/p'
        sed -n 's/.*damaged: \([0-9]*\) records.*/dump \1/p' said
        notelog list my.notelog --field time 2>&1 | sed -n 's/.*damaged: \([0-9]*\) records.*/list \1/p'
        notelog verify --json my.notelog 2>/dev/null | sed 's/.*"lostRecords":\([0-9]*\).*/verify \1/'
      }

      """#

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(Self.prelude + script, expected, input: "", location)
  }

  /// The bug: of a finished segment that had lost its end and kept its length, or had got longer, only the
  /// one record was counted that a header still named: '1 record can't be read, all others are current', and
  /// hundreds were gone.
  @Test func `all records of a segment that is not as it was are counted, at opening already`() throws {
    let script = """
      length=$(wc -c <$finished); cp $finished kept
      truncate -s $((length - 8192)) $finished; truncate -s $length $finished
      counts
      (head -c 20000 kept; head -c 4096 /dev/zero; tail -c +20001 kept) >$finished
      counts
      notelog info my.notelog 2>/dev/null | grep '^records'
      # What follows the segment's end costs nothing.
      (cat kept; head -c 4096 /dev/zero) >$finished
      notelog info my.notelog 2>/dev/null | grep '^damage'
      """
    let answer = try bench.run(Self.prelude + script)
    let lines = answer.out.split(separator: "\n").map(String.init)
    try #require(lines.count == 14)
    for start in [0, 6] {
      let gone = lines[start].trimmingCharacters(in: .whitespaces)
      let expected = ["info \(gone)", gone, "dump \(gone)", "list \(gone)", "verify \(gone)"]
      #expect(Int(gone) ?? 0 > 5 && Array(lines[start + 1...start + 5]) == expected, "\(lines)")
    }
    #expect(lines[12].hasPrefix("records     400, of which \(lines[6].filter(\.isNumber)) can't be read, "))
    #expect(lines[13] == "damage      contained, 0 records known to be lost")
  }

  /// The bug: `verify` named one record, and nothing the others, although the footer of the segment did.
  @Test func `verify names the records that a footer says were there`() throws {
    let script = """
      dd if=/dev/zero of=$finished bs=1 seek=20000 count=4096 conv=notrunc status=none
      counts >counted
      notelog verify my.notelog >found 2>/dev/null; echo $?
      sed -n 's/^lost       record \\([^ ]*\\) of note, revision [0-9]*$/\\1/p' found | sort | diff - gone && echo named
      notelog verify --json my.notelog 2>/dev/null | sed 's/.*"lost":\\[//; s/\\].*//' | tr '}' '\\n' | grep -o '"record":"[^"]*"' | cut -d'"' -f4 | sort | diff - gone && echo named
      notelog get my.notelog $(head -1 gone) $quick >/dev/null 2>err; echo $?; grep -c "the record's frame does not check" err
      dd if=/dev/zero of=$finished bs=1 seek=6000 count=30000 conv=notrunc status=none
      notelog verify my.notelog 2>/dev/null | grep -E '^lost' | tail -n +20 | sed 's/record .*-.*/record ID/; s/and [0-9]* more/and N more/'
      """
    let out = """
      1
      named
      named
      3
      1
      lost       record ID
      lost       and N more, which --json names

      """
    try expect(script, .init(out: out))
  }

  /// What only the index knows has no id, and that is said.
  @Test func `records of which only the index knows are counted, and get of one says that it can't be read`()
    throws
  {
    let script = """
      rm $finished
      counts >counted; tail -1 counted | grep -qx "verify $(($(wc -l <gone)))" && echo counted
      notelog verify my.notelog 2>/dev/null | grep '^lost' | sed 's/[0-9][0-9]* records/N records/'
      notelog get my.notelog $(head -1 gone) $quick >/dev/null 2>err; echo $?; grep -c "can't be read" err
      """
    let out = """
      counted
      lost       N records whose ids are not known: the index has only fingerprints of ids
      3
      1

      """
    try expect(script, .init(out: out))
  }

  /// The bug: `info` came upon damage while it counted, and called the store sound all the same.
  @Test func `info does not call a store sound beside the damage that it tells of`() throws {
    let script = """
      dd if=/dev/zero of=$finished bs=1 seek=20000 count=4096 conv=notrunc status=none
      notelog info my.notelog 2>/dev/null | grep -E '^(condition|damage)' | sed 's/[0-9][0-9]*/N/'
      """
    let out = """
      condition   damaged, closed in order
      damage      contained, N records known to be lost

      """
    try expect(script, .init(out: out))
  }
}
