// `history`, `get ID@REVISION` and `undo` as one would type them.
import Foundation
import Testing

@Suite struct HistoryCommandTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(storePrelude + script, expected, location)
  }

  @Test func `a record's versions are listed without a key, and one is shown`() throws {
    let script = """
      id=$(notelog add my.notelog title=Hello body=Text time=2026-11-20 $quick)
      notelog set my.notelog $id title=Goodbye $quick
      notelog remove my.notelog $id >/dev/null
      notelog history my.notelog $id
      notelog history my.notelog $id --json
      notelog get my.notelog $id@2 $quick | sed "s/$id/ID/"
      notelog get my.notelog $id@3 title $quick; echo
      notelog get my.notelog $id@4 $quick 2>&1 | sed "s/$id/ID/"
      notelog get my.notelog $id@x $quick; echo $?
      notelog history my.notelog 00000000-0000-0000-0000-000000000009; echo $?
      """
    let expected = """
      4\t\tremoved
      3\t\twritten
      2\t\twritten
      {"revision":4,"time":null,"change":"removed"}
      {"revision":3,"time":null,"change":"written"}
      {"revision":2,"time":null,"change":"written"}
      note ID revision 2
        time   2026-11-20T00:00:00Z
        title  Hello
        body   Text
      Goodbye
      notelog: error: the store has no revision 4 of record ID
      notelog: hint: 'notelog history STORE ID' lists those that it has
      64
      1

      """
    let errors = """
      notelog: error: 'x' is not a revision
      notelog: error: there is no trace of a record 00000000-0000-0000-0000-000000000009

      """
    try expect(script, .init(out: expected, err: errors))
  }

  @Test func `a store with times says when each version was written`() throws {
    let script = """
      notelog init timed --commit-times $quick
      id=$(notelog add timed title=Hello $quick)
      notelog history timed $id | grep -cE '^2\t20[0-9]{2}-[0-9-]{5}T[0-9:]{8}(\\.[0-9]{1,3})?Z\twritten$'
      """
    try expect(script, .init(out: "1\n"))
  }

  @Test func `on a terminal a history is a table, in local time unless --utc is given`() throws {
    let script = """
      notelog init timed --commit-times $quick
      id=$(notelog add timed title=Hello $quick); export TZ=UTC-5:30 NO_COLOR=1
      for i in 3 4 5 6 7 8 9 10; do notelog set timed $id title=$i $quick; done
      utc=$(notelog history timed $id --tsv | tail -n 1 | cut -f2)
      echo LOCAL=$(date -d $utc '+%F %T') UTC=$(TZ=UTC date -d $utc '+%F %T')
      notelog history timed $id; notelog history timed $id --utc
      """
    let terminal = try PseudoTerminal(storePrelude + script, in: bench)
    #expect(terminal.finish() == 0)
    let lines = terminal.shown.split(separator: "\r\n").map(String.init)
    let times = lines.first { $0.hasPrefix("LOCAL=") }?.dropFirst(6).components(separatedBy: " UTC=") ?? []
    #expect(lines.count { $0 == "revision  time                 change" } == 2, "\(terminal.shown)")
    #expect(lines.contains { $0.hasPrefix("      10  ") && $0.hasSuffix("  written") }, "\(terminal.shown)")
    #expect(
      times.count == 2 && times.allSatisfy { lines.contains("       2  \($0)  written") }, "\(terminal.shown)"
    )
  }

  @Test func `a store that keeps versions has them after compaction, until it is purged`() throws {
    let script = """
      notelog init kept --keep-versions 30d $quick
      id=$(notelog add kept title=Hello $quick)
      printf '%0300000d' 1 >long
      notelog set kept $id body=@long $quick
      notelog set kept $id body=short title=Goodbye $quick
      notelog compact kept >/dev/null
      notelog history kept $id | grep -c Z
      notelog get kept $id@3 body $quick | wc -c
      notelog info kept | grep -oE 'kept for 30d|, [0-9]{6} are kept' | sed 's/[0-9]* are/N are/'
      notelog info kept --json | grep -oE '"keptSeconds":2592000|"keptBytes":[0-9]{6},' | cut -c1-14
      notelog undo kept $quick | sed "s/$id/ID/"
      notelog compact kept --purge >/dev/null
      notelog history kept $id | grep -c Z
      notelog verify kept $quick >/dev/null; echo $?
      notelog init other --keep-versions 30 $quick; echo $?
      notelog compact kept --purge --dry-run; echo $?
      """
    let expected = """
      3
      300000
      kept for 30d
      , N are kept
      "keptSeconds":
      "keptBytes":30
      4  restored  ID
      1
      0
      64
      64

      """
    let errors = """
      notelog: error: --keep-versions takes a time like 90s, 15m, 12h or 30d, not '30'
      notelog: error: --purge and --dry-run are both given, and one is enough

      """
    try expect(script, .init(out: expected, err: errors))
  }

  @Test func `the last change is taken back, and that too`() throws {
    let script = """
      id=$(notelog add my.notelog title=Hello $quick)
      notelog set my.notelog $id title=Goodbye $quick
      notelog undo my.notelog $quick | sed "s/$id/ID/"
      notelog get my.notelog $id title $quick; echo
      notelog undo my.notelog --json $quick | sed "s/$id/ID/"
      notelog get my.notelog $id title $quick; echo
      notelog remove my.notelog $id >/dev/null
      notelog undo my.notelog $quick >/dev/null
      notelog list my.notelog --field title $quick | sed "s/$id/ID/"
      notelog add my.notelog title=More $quick >/dev/null
      notelog undo my.notelog $quick | sed 's/ [0-9a-f-]*$/ ID/'
      notelog list my.notelog --field title $quick | sed "s/$id/ID/"
      notelog verify my.notelog $quick >/dev/null; echo $?
      """
    let expected = """
      3  restored  ID
      Hello
      {"revision":4,"restored":["ID"],"removed":[]}
      Goodbye
      ID\tGoodbye
      8  removed  ID
      ID\tGoodbye
      0

      """
    try expect(script, .init(out: expected))
  }

  /// The bug: what was large was compacted away by the command that removed it.
  @Test func `a removal or change of what is large is taken back, and the next command gives its space back`()
    throws
  {
    let script = """
      notelog schema seal my.notelog note photo=bytes --yes $quick 2>/dev/null
      head -c 3000000 /dev/urandom >big
      for i in 1 2 3; do
        id=$(notelog add my.notelog title=N$i $quick); echo $id >>ids; notelog set my.notelog $id photo=@big $quick
      done
      size() { [ $(du -sk my.notelog | cut -f1) -gt 6000 ] && echo large || echo small; }
      photos() { for id in $(cat ids); do notelog get my.notelog $id photo $quick | cmp - big && echo same; done; }
      notelog remove my.notelog $(cat ids) $quick | cut -f3; notelog undo my.notelog $quick | wc -l; photos
      notelog set my.notelog $id photo= $quick; notelog undo my.notelog $quick | wc -l; photos
      notelog remove my.notelog $(cat ids) $quick | cut -f3; size
      notelog add my.notelog title=More $quick >/dev/null; size
      """
    let out = "N1\nN2\nN3\n3\nsame\nsame\nsame\n1\nsame\nsame\nsame\nN1\nN2\nN3\nlarge\nsmall\n"
    try expect(script, .init(out: out))
  }

  @Test func `what can't be taken back is said, and nothing is changed`() throws {
    let script = """
      notelog undo my.notelog $quick; echo $?
      id=$(notelog add my.notelog title=Hello $quick)
      notelog set my.notelog $id title=Goodbye $quick
      notelog undo my.notelog </dev/null; echo $?
      printf '%0200000d' 1 >long
      notelog set my.notelog $id body=@long $quick
      notelog set my.notelog $id body=short $quick
      notelog compact my.notelog >/dev/null
      notelog undo my.notelog $quick; echo $?
      notelog get my.notelog $id title $quick; echo
      """
    let errors = """
      notelog: error: the last transaction changed a schema, which is never taken back
      notelog: error: a password is needed, and there is no terminal to ask on
      notelog: hint: give it with --password-file FILE, or keep the store unlocked with 'notelog unlock'
      notelog: error: what was before the last change may be gone: the store was compacted since, or recovered, or is damaged

      """
    try expect(script, .init(out: "2\n12\n2\nGoodbye\n", err: errors))
  }
}
