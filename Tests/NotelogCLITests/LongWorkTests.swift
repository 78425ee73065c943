// Long work: progress on a terminal and none in a pipe; Ctrl-C ends it with a sound store.
import Foundation
import Testing

@Suite struct LongWorkTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// A store of some megabytes, a part of which is dead.
  static let filled =
    storePrelude + #"""
      lines() { awk "BEGIN { for (i = 1; i <= $1; i++) printf \"{\\\"id\\\":\\\"00000000-0000-0000-0000-%012d\\\",\\\"fields\\\":{\\\"title\\\":\\\"%d\\\",\\\"body\\\":\\\"%0700d\\\"}}\\n\", i, i, i }"; }
      lines 3000 >lines
      notelog import my.notelog lines $quick
      # So each segment is half dead, and compaction has something to copy.
      awk 'NR % 2' lines | notelog import my.notelog $quick

      """#

  @Test(arguments: [
    "import my.notelog lines $quick", "verify my.notelog $quick", "dump my.notelog $quick",
    "salvage my.notelog --to new", "compact my.notelog", "backup my.notelog new",
    "cat lines | notelog import my.notelog $quick",
  ])
  func `no progress is shown in a pipe`(line: String) throws {
    let command = line.hasPrefix("cat") ? line : "notelog " + line
    let quiet = try bench.run(Self.filled + command + " 2>err >/dev/null; echo $?; cat err")
    #expect(quiet == .init(out: "0\n"))
  }

  @Test func `on a terminal, what lasts shows how far it is, and leaves the line when it ends`() throws {
    let script =
      storePrelude + """
        mkfifo fifo; (while [ ! -e stop ]; do echo '{"fields":{"title":"x"}}'; done >fifo) &
        notelog import my.notelog --batch 1 $quick <fifo; echo ended $?
        """
    let terminal = try PseudoTerminal(script, in: bench)
    try terminal.awaitText("\r\u{1B}[Kimporting ")
    try terminal.awaitText(" bytes, ")
    try terminal.awaitText(" MB/s")
    try bench.write("stop", "")
    try terminal.awaitText("\r\u{1B}[Kimporting 100 %\r\nended 0")
    #expect(terminal.finish() == 0)
  }

  @Test(arguments: ["verify", "dump --json", "compact", "salvage --to new", "import", "backup new"])
  func `Ctrl-C ends long work with 130, and leaves a sound store`(command: String) throws {
    // It is typed as soon as the tool has opened a segment. If it was too late for that once, it is tried
    // again.
    let script = """
      notelog dump --json my.notelog $quick | sed 's/"revision":[0-9]*,//' >before
      code=0; tries=0
      until [ $code = 130 ]; do
        tries=$((tries + 1)); [ $tries -gt 50 ] && { echo "never: $code"; exit 1; }
        rm -rf store new; cp -r my.notelog store
        set -- $command
        first=$1; shift
        [ $first = import ] && set -- lines
        notelog $first store "$@" $quick >/dev/null 2>err &
        tool=$!
        until ls -l /proc/$tool/fd 2>/dev/null | grep -q '[.]journal'; do kill -0 $tool 2>/dev/null || break; done
        kill -INT $tool 2>/dev/null
        wait $tool; code=$?
      done
      grep -v 'is whole, and was not verified' err
      notelog verify store $quick | grep verdict
      notelog dump --json store $quick | sed 's/"revision":[0-9]*,//' | cmp - before && echo same
      # Either there is nothing of what was not finished, or it was the verification that ended, and it says so.
      if [ $first = salvage ] && [ -n "$(ls -A new 2>/dev/null)" ]; then
        grep -q "'new' is whole, and was not verified" err || ls new
        notelog dump --json new $quick | sed 's/"revision":[0-9]*,//' | cmp - before
      fi
      rm -rf new; notelog salvage store --to new >/dev/null && echo again
      """
    try bench.expect(
      Self.filled + "command='\(command)'\n" + script, .init(out: "verdict    sound\nsame\nagain\n"))
  }
}
