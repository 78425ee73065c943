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
    ("import my.notelog lines $quick", "importing"), ("verify my.notelog $quick", "verifying"),
    ("dump my.notelog $quick >out", "dumping"), ("salvage my.notelog --to new", "salvaging"),

    ("compact my.notelog", "compacting"),
    ("backup my.notelog new", "backing up"),
    ("cat lines | notelog import my.notelog $quick", "importing"),
  ])
  func `progress is shown on a terminal and wiped, and never in a pipe`(line: String, what: String) throws {
    let command = line.hasPrefix("cat") ? line : "notelog " + line
    // In a pipe it works on a copy, so that as much is left to do.
    let quiet = try bench.run(
      Self.filled + "cp -r my.notelog kept\n" + command
        + " 2>err >/dev/null; echo $?; cat err; rm -rf new my.notelog; mv kept my.notelog")
    #expect(quiet == .init(out: "0\n"))
    let terminal = try PseudoTerminal("quick='--key-file key'\n" + command, in: bench)
    #expect(terminal.finish() == 0)
    let unit = line.hasPrefix("cat") ? "" : " %"
    let steps = terminal.shown.split(separator: "\r").filter { $0.hasPrefix("\u{1B}[K\(what) ") }
    #expect(steps.count > 1 && steps.contains { $0.hasSuffix(unit) }, "\(terminal.shown)")
    // The last thing that was written to the line is nothing.
    let last = terminal.shown.range(of: "\r\u{1B}[K", options: .backwards).map {
      terminal.shown[$0.upperBound...]
    }
    #expect(last?.hasPrefix(what) == false)
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
