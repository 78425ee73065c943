// Commands over many records where some of these are damaged: the sound ones are shown, the others said, and
// the exit code is 3.
import Foundation
import Testing

@Suite struct DamagedListTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Sixty notes, and what damages the payload of one by the last digits of its id, wherever its frame is.
  private static let prelude =
    SalvageTests.prelude + #"""
      harm() {
        notelog dump --frames --json my.notelog | grep '"kind":"record"' | grep "\"record\":\"[^\"]*$1\"" >frame
        file=$(sed 's/.*"file":"\([^"]*\)".*/\1/' frame)
        spoil my.notelog/$file $(($(sed 's/.*"offset":\([0-9]*\).*/\1/' frame) + 60))
      }

      """#

  /// The bug: `list` printed nothing where one record's payload was damaged, also where few were asked for.
  @Test func `list shows the sound records, and says which it could not read`() throws {
    let script =
      Self.prelude + """
        harm 03; harm 40
        for line in "list my.notelog" "list my.notelog --sort title:desc" "list my.notelog --field title" "search my.notelog note"; do
          notelog $line $quick >out 2>err; echo "$? $(wc -l <out)"
          grep -c '^notelog: error: record 5a1ba6e0-0000-4000-8000-0000000000\\(03\\|40\\) cannot be read: ' err
        done
        notelog list my.notelog -n 3 $quick >out 2>err; echo "$? $(wc -l <out) $(wc -l <err)"
        notelog info my.notelog 2>err | grep -o '^collection  note: 60 records'; grep -o "2 records can't be read" err
        for i in $(seq 11 20); do harm $i; done
        notelog list my.notelog $quick >out 2>err; echo "$? $(wc -l <out) $(grep -c '^notelog: error: record ' err)"
        grep ' more ' err
        """
    let expected = """
      3 58
      2
      3 58
      2
      3 58
      2
      3 58
      2
      3 3 4
      collection  note: 60 records
      2 records can't be read
      3 48 10
      notelog: error: and 2 more records cannot be read

      """
    try bench.expect(script, .init(out: expected))
  }

  /// The bug: all that the store knows of its records hung on one block of one file.
  @Test
  func `records are shown, changed and added although the schema's record is damaged, and it is mended`()
    throws
  {
    let script =
      Self.prelude + """
        notelog dump --json my.notelog $quick >before
        harm 1000000-0000-0000-0000-000000000000
        notelog dump --json my.notelog $quick 2>/dev/null | cmp - before && echo same
        notelog info my.notelog 2>/dev/null | grep '^schemas'
        notelog salvage my.notelog --to new >report; grep -c 'schema' report
        notelog dump --json new $quick | cmp - before && echo same
        notelog add my.notelog title=more $quick >/dev/null 2>&1
        notelog info my.notelog 2>/dev/null | grep '^schemas'
        rm my.notelog/schemas
        notelog list my.notelog $quick 2>/dev/null | wc -l
        """
    let expected = """
      same
      schemas     of collection 1 damaged in the log, schemas serves
      0
      same
      schemas     sound
      61

      """
    try bench.expect(script, .init(out: expected))
  }

  /// The bugs: `search` exited 0 where a field of a record it had found could not be read; and of a head that
  /// was damaged while the store was closed, all records counted as lost as soon as it was finished.
  @Test func `a search says which fields could not be read, and only what is lost is counted`() throws {
    let script =
      Self.prelude + """
        head -c 300000 /dev/zero | tr '\\0' x >long
        printf '{"id":"5a1ba6e0-0000-4000-8000-000000000099","fields":{"title":"long","body":"%s"}}\n' $(cat long) | notelog import my.notelog $quick
        notelog dump --frames --json my.notelog | grep '"kind":"chunk"' | tail -1 >frame
        file=$(sed 's/.*"file":"\\([^"]*\\)".*/\\1/' frame)
        spoil my.notelog/$file $(($(sed 's/.*"offset":\\([0-9]*\\).*/\\1/' frame) + 100))
        notelog search my.notelog long --field title --json $quick >out 2>err; echo "$? $(wc -l <out) $(grep -c '^notelog: error: record ' err)"
        cp -r my.notelog whole
        for i in $(seq 70 74); do notelog add my.notelog title=t$i $quick >/dev/null 2>&1; done
        notelog dump --frames --json my.notelog | grep '"kind":"record"' | tail -1 >frame
        file=$(sed 's/.*"file":"\\([^"]*\\)".*/\\1/' frame)
        spoil my.notelog/$file $(($(sed 's/.*"offset":\\([0-9]*\\).*/\\1/' frame) + 8))
        notelog info my.notelog 2>/dev/null | grep '^damage'
        notelog compact my.notelog >/dev/null 2>&1
        notelog add my.notelog title=next $quick >/dev/null 2>&1
        notelog compact my.notelog >/dev/null 2>&1
        notelog info my.notelog 2>/dev/null | grep '^damage'
        """
    let expected = """
      3 1 1
      damage      contained, 1 record known to be lost
      damage      contained, 1 record known to be lost

      """
    try bench.expect(script, .init(out: expected))
  }
}
