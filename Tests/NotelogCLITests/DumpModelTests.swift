// `dump --json | import`: the same records come out, in bounded memory, however many there are.
import Foundation
import Testing

@Suite struct DumpModelTests {
  /// A million in `make soak`.
  static let count = ProcessInfo.processInfo.environment["NOTELOG_SOAK"] == "1" ? 1_000_000 : 20_000

  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `a dump that is imported into a new store gives the same dump, in less than 200 MiB`() throws {
    // The system's own high-water mark of each program, in kibibytes, read while it runs. What it says of one
    // that has ended counts the memory of the process that forked it, too: that of all tests together.
    let script = """
      measured() {
        exec 3<&0
        "$@" <&3 &
        while peak=$(sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' /proc/$!/status 2>/dev/null) && [ -n "$peak" ]; do
          echo "$peak" >>peaks; sleep 0.01
        done
        wait $!
      }
      notelog init other $quick --scrypt-log-n 14 2>/dev/null
      awk 'BEGIN { for (i = 1; i <= \(Self.count); i++) printf \\
        "{\\"id\\":\\"%08x-0000-4000-8000-%012x\\",\\"fields\\":{\\"time\\":\\"2026-01-01T00:00:%02d.%06dZ\\",\\"title\\":\\"title %d\\",\\"body\\":\\"body of %d\\\\n\\\\u00e9\\"}}\\n", \\
        (i * 2654435761) % 4294967296, i, i % 60, i % 1000000, i, i }' |
        measured notelog import my.notelog $quick || exit 1
      measured notelog dump --json my.notelog $quick | measured notelog import other $quick || exit 2
      for store in my.notelog other; do
        notelog dump --json $store $quick | sed 's/"revision":[0-9]*,//' | tee $store.dump | cksum
      done | uniq | wc -l
      wc -l <my.notelog.dump; cmp my.notelog.dump other.dump && echo same
      notelog verify other >/dev/null && echo sound
      sort -n peaks | tail -1
      """
    let answer = try bench.run(storePrelude + script)
    var lines = answer.out.split(separator: "\n")
    let peakKibibytes = try #require(lines.popLast().flatMap { Int($0) })
    #expect(lines == ["1", "\(Self.count)", "same", "sound"] && answer.err.isEmpty)
    #expect(peakKibibytes < 200 << 10)
    // Something that big was measured at all.
    #expect(peakKibibytes > 4 << 10)
  }
}
