// `ship`, `restore`, `expired` and `verify` of archives, as somebody uses them: by the real tool, killed and interrupted.
import Foundation
import Testing

@Suite struct ShipCommandTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  static let prelude = """
    (umask 077; printf '%032d' 7 >key)
    quick="--key-file key"
    notelog init my.notelog --commit-times $quick 2>/dev/null
    put() { notelog add my.notelog title=$1 $quick; }
    count() { notelog list $1 $quick | wc -l; }
    branch() { sed -E 's/branch [0-9a-f]{8}/branch B/; s/[0-9]{4}-[-0-9]+ [:0-9]+/T/; s/[0-9]+ bytes/N bytes/'; }
    shipped() { until grep -q "revision $1," out 2>/dev/null; do sleep 0.05; done; }

    """

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(Self.prelude + script, expected, input: "", location)
  }

  @Test(arguments: ["INT", "TERM"])
  func `commits are shipped as they come, and a signal ends it in order`(signal: String) throws {
    let script = """
      notelog ship my.notelog box --every 1s >out & ship=$!
      shipped 1
      put one >/dev/null; shipped 2
      put two >/dev/null; shipped 3
      kill -\(signal) $ship; wait $ship; echo $?
      branch <out | sort -u | grep -c '^shipped revision [123], [12] objects*, N bytes$'
      notelog restore box back | branch; count back
      put three >/dev/null; notelog info my.notelog --archive box | branch | grep archive
      notelog info my.notelog --archive box --json | grep -o '"archive":{"revision":3,"time":"'
      notelog info back --archive box | grep archive; notelog info my.notelog --archive my.notelog 2>/dev/null; echo $?
      """
    let out = """
      0
      3
      restored as of T, revision 3, branch B
      2
      archive     revision 3 of 4, of T
      "archive":{"revision":3,"time":"
      archive     revision 0 of 3
      10

      """
    try expect(script, .init(out: out))
  }

  @Test func `killed at any moment, the next round goes on`() throws {
    let script = """
      for i in 1 2 3 4 5 6 7 8; do
        put $i >/dev/null
        notelog ship my.notelog box --every 1s & ship=$!
        [ $((i % 2)) = 0 ] && until ls box 2>/dev/null | grep -q .; do sleep 0.05; done
        kill -KILL $ship; wait $ship
      done >/dev/null 2>&1
      notelog ship my.notelog box --once >/dev/null; echo $?
      notelog verify box $quick | grep verdict; notelog restore box back | branch; count back
      """
    try expect(script, .init(out: "0\nverdict    sound\nrestored as of T, revision 9, branch B\n8\n"))
  }

  @Test func `what --then runs is heard, tried again, and part of the exit code`() throws {
    let script = """
      then='echo carried; test -e ok'
      notelog ship my.notelog box --once --then "$then" </dev/null >/dev/null; echo $?
      rm -f out err; notelog ship my.notelog box --every 1s --then "$then" >out 2>err & ship=$!
      until grep -q 'exit code 1' err 2>/dev/null; do sleep 0.05; done
      kill -INT $ship; wait $ship; echo $?
      rm -f out err; notelog ship my.notelog box --every 1s --then "$then" >out 2>err & ship=$!
      until grep -q 'exit code 1' err 2>/dev/null; do sleep 0.05; done
      touch ok; until [ $(grep -c carried err) -ge 2 ]; do sleep 0.05; done
      kill -INT $ship; wait $ship; echo $?; cat out
      rm -f out err; notelog ship my.notelog box --every 1s --json --then "kill -9 \\$\\$" >out 2>err & ship=$!
      until grep -q 'exit code 137' err 2>/dev/null; do sleep 0.05; done
      kill -TERM $ship; wait $ship; echo $?; head -n 1 out
      notelog ship my.notelog box --every 1s --then 'touch began; exec sleep 60 >/dev/null 2>&1' & ship=$!
      until [ -e began ]; do sleep 0.05; done
      while kill -INT $ship; do sleep 0.05; done 2>/dev/null; wait $ship; echo $?
      notelog ship my.notelog box --once --then "kill -9 \\$\\$"; echo $?
      """
    let answer = try bench.run(Self.prelude + script)
    let event = #"{"error":"the command of --then failed with exit code 137","exitCode":2}"#
    #expect(answer.out == "2\n2\n0\n2\n\(event)\n130\n2\n", "\(answer)")
    #expect(answer.err.contains("carried\nnotelog: error: the command of --then failed with exit code 1\n"))
    #expect(answer.err.hasSuffix("notelog: error: the command of --then failed with exit code 137\n"))
  }

  /// The bug: the round after one that had found this out put what it had.
  @Test func `a copy that was written to is not shipped to the same place, in no round`() throws {
    let script = """
      put one >/dev/null; notelog ship my.notelog box --once >/dev/null; cp -r my.notelog copy
      put two >/dev/null; notelog ship my.notelog box --once --json | grep -o '"revision":3,"objectsPut":1'
      notelog ship copy box --once; echo $?
      for i in 1 2 3; do notelog add copy title=$i $quick >/dev/null; done
      ls box >before
      rm -f out err; notelog ship copy box --every 1s 2>err & ship=$!
      until [ $(cat err 2>/dev/null | wc -l) -ge 2 ]; do sleep 0.05; done
      kill -TERM $ship; wait $ship; echo $?
      grep -vc 'error: segment 1, offset [0-9]*: the archive has another history of the store' err
      ls box | cmp - before && notelog restore box back | branch; count back
      """
    let answer = try bench.run(Self.prelude + script)
    #expect(
      answer.out
        == "\"revision\":3,\"objectsPut\":1\n3\n3\n0\nrestored as of T, revision 3, branch B\n2\n",
      "\(answer)")
    #expect(answer.err.contains("the archive knows a later end of the store"))
  }

  @Test func `two ship to one folder, and both go on`() throws {
    let script = """
      touch out other
      notelog ship my.notelog box --every 1s >out & one=$!
      notelog ship my.notelog box --every 1s >other & two=$!
      until grep -q shipped out && grep -q shipped other; do put more >/dev/null; kill -0 $one && kill -0 $two || break; done
      kill -INT $one $two; wait $one; echo $?; wait $two; echo $?; cat out other | grep -vc shipped
      notelog verify box $quick | grep verdict
      """
    try expect(script, .init(out: "0\n0\n0\nverdict    sound\n"))
  }

  @Test func `any moment comes back, by its revision and its time, and --list and --needs make no store`()
    throws
  {
    let script = """
      for i in 1 2 3; do put $i >/dev/null; notelog ship my.notelog box --once >/dev/null; done
      notelog restore box --list | sed -E 's/[0-9a-f]{8}/B/; s/[0-9]{4}-[-0-9]+ [:0-9]+/T/g'; notelog restore box --list --json >list
      for i in 1 2; do
        notelog restore box back$i --revision $((i + 1)) | branch; count back$i
        time=$(tr '{' '\\n' <list | grep '"revision":'$((i + 1)), | cut -d '"' -f 6)
        notelog restore box at$i --at $time | branch; count at$i
      done
      mkdir fetched; (cd box; cp $(notelog restore . --needs --revision 2) ../fetched)
      notelog restore fetched there --revision 2 | branch; ls fetched | wc -l
      notelog verify box --revision 2 | grep -E '^(archive|verdict)'
      notelog restore box new --at 1999; echo $?
      notelog restore box new --at noon; echo $?
      notelog restore box new --at 2026 --revision 1; echo $?
      notelog restore box; echo $?; notelog restore box new --list; echo $?
      notelog verify my.notelog --revision 1; echo $?
      notelog restore nowhere new; echo $?; ls | grep -c 'new\\|nowhere'
      """
    let out = """
      B  0 to 4  T to T
      restored as of T, revision 2, branch B
      1
      restored as of T, revision 2, branch B
      1
      restored as of T, revision 3, branch B
      2
      restored as of T, revision 3, branch B
      2
      restored as of T, revision 2, branch B
      3
      archive    1 object, as of revision 2
      verdict    sound
      1
      64
      64
      64
      64
      64
      10
      1

      """
    let answer = try bench.run(Self.prelude + script)
    #expect(answer.out == out, "\(answer)")
  }

  @Test func `what is expired is listed, deleted when that is asked for, and never while anything is wrong`()
    throws
  {
    let script = """
      for i in 1 2 3; do put $i >/dev/null; notelog ship my.notelog box --once >/dev/null; done
      notelog compact my.notelog --purge $quick >/dev/null; put 4 >/dev/null; notelog ship my.notelog box --once >/dev/null
      all=$(ls box | wc -l)
      notelog expired box --keep 1d; notelog expired box >gone; notelog expired box --needed >kept
      [ $(wc -l <gone) -gt 0 ] && sort gone kept | cmp - /dev/fd/3 3<<END && echo apart
      $(ls box | LC_ALL=C sort)
      END
      cp -r box rotten
      object=rotten/$(ls rotten | grep ^s-); printf X | dd of=$object bs=1 seek=4700 conv=notrunc status=none
      notelog expired rotten --delete 2>err; echo $?; grep -q '^notelog: error: ' err && [ $(ls rotten | wc -l) = $all ] && echo all there
      notelog expired box --delete | cmp - gone; ls box | cmp - kept
      notelog expired box --delete --json
      notelog verify box $quick | grep verdict; notelog restore box back | branch; count back
      notelog expired box --delete --needed 2>/dev/null; echo $?; notelog expired my.notelog 2>/dev/null; echo $?
      """
    let out = """
      apart
      3
      all there
      {"objects":[],"findings":[]}
      verdict    sound
      restored as of T, revision 7, branch B
      4
      64
      10

      """
    let answer = try bench.run("export LC_ALL=C\n" + Self.prelude + script)
    #expect(answer.out == out, "\(answer)")
  }

  @Test func `a full disk is said, and made room on, it goes on; one that is taken away is missed`() throws {
    guard Workbench.canMount else { return }
    try bench.write(
      "full",
      Self.prelude + """
        mount -t tmpfs -o size=200k none disk || exit 9
        rm -f out err; notelog ship my.notelog disk/box --every 1s >out 2>err & ship=$!
        shipped 1
        awk 'BEGIN { for (i = 0; i < 30; i++) printf "{\\"fields\\":{\\"body\\":\\"%020000d\\"}}\\n", i }' | notelog import my.notelog $quick
        until grep -q "hint: the disk of 'disk/box' is full" err 2>/dev/null; do sleep 0.05; done
        mount -o remount,size=9m disk; shipped 2
        mv disk/box disk/away; mkdir disk/box; put one >/dev/null
        kill -INT $ship; wait $ship; echo $?
        notelog verify disk/away | grep verdict; ls disk/box
        """)
    try bench.expect("mkdir disk; unshare -rm sh full", .init(out: "0\nverdict    sound\n"))
  }
}
