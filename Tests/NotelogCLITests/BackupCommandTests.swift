// `backup` and `restore`: only what is new is copied, all of it comes back, and what stands in the way is said.
import Foundation
import Testing

@Suite struct BackupCommandTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// A store of several segments.
  static let prelude =
    storePrelude + #"""
      lines() { for i in $(seq $1 $2); do printf '{"id":"00000000-0000-0000-0000-%012d","fields":{"title":"%s","body":"%060000d"}}\n' $i $i $i; done; }
      lines 1 50 | notelog import my.notelog $quick --batch 1
      numbers() { sed -E 's/[0-9]+/N/g'; }

      """#

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(Self.prelude + script, expected, input: "", location)
  }

  @Test func `a backup holds all, the next one copies only what is new, and a store comes of either`() throws
  {
    let script = """
      notelog backup my.notelog backup | numbers
      lines 51 54 | notelog import my.notelog $quick
      first=$(du -sb backup | cut -f 1)
      copied() { sed -E 's/.*"bytesCopied":([0-9]+).*/\\1/'; }
      again=$(notelog backup my.notelog backup --json | copied); [ $((again * 2)) -lt $first ] && echo less
      notelog restore backup back; notelog restore backup new --json
      notelog dump my.notelog --json $quick >before
      notelog dump back --json $quick | cmp - before && notelog verify back $quick >/dev/null && echo same
      id=$(notelog add back title=more $quick) && notelog get back $id title $quick; echo
      """
    let expected = """
      N segments copied, N there already; N bytes copied and verified
      less
      restored and verified
      {"findings":[]}
      same
      more

      """
    try expect(script, .init(out: expected))
  }

  @Test func `a store is backed up while another process writes to it`() throws {
    let script = """
      mkfifo pipe
      notelog import my.notelog pipe --batch 1 --durable --ack $quick >acks &
      exec 3>pipe
      lines 60 60 >&3
      until [ -s acks ]; do :; done
      notelog backup my.notelog backup | numbers
      lines 61 61 >&3
      exec 3>&-; wait
      notelog restore backup back
      notelog list back -f title -w title=60 $quick | wc -l
      notelog verify back $quick | grep verdict
      """
    let expected = """
      N segments copied, N there already; N bytes copied and verified
      restored and verified
      1
      verdict    sound

      """
    try expect(script, .init(out: expected))
  }

  @Test func `damage in a store is copied as it is, named, and exits 3`() throws {
    let script = """
      place=$(notelog dump --frames my.notelog | sed -nE 's/^ *([0-9]+) .*record .*000000000003  collection 1$/\\1/p')
      printf XXXX | dd of=my.notelog/000000000001.journal bs=1 seek=$((place + 500)) conv=notrunc status=none
      notelog backup my.notelog backup >/dev/null 2>err; echo $?; grep -c '^notelog: error: segment 1, offset' err
      notelog restore backup back >/dev/null 2>err; echo $?; grep -c '^notelog: error: segment 1, offset' err
      notelog dump back --json $quick 2>/dev/null | wc -l
      """
    try expect(script, .init(out: "3\n1\n3\n1\n49\n"))
  }

  @Test func `what stands in the way is said`() throws {
    let script = """
      notelog init other $quick --scrypt-log-n 14 2>/dev/null
      notelog backup my.notelog backup >/dev/null
      notelog backup other backup 2>/dev/null; echo $?
      notelog backup nowhere backup 2>/dev/null; echo $?
      notelog restore other new 2>/dev/null; echo $?
      notelog restore backup my.notelog 2>/dev/null; echo $?
      notelog restore nowhere new 2>/dev/null; echo $?
      notelog restore backup back && notelog list back -f title $quick | wc -l
      """
    try expect(script, .init(out: "2\n10\n10\n2\n10\nrestored and verified\n50\n"))
  }
}
