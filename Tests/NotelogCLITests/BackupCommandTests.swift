// `backup` and `restore`: only what is new is copied, all of it comes back, and what stands in the way is
// said.
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
      numbers() { sed -E 's/(object|segment)s? /\1s /g; s/[0-9]+/N/g'; }
      back() { sed -E 's/^restored .*revision [0-9]+, branch [0-9a-f]{8}/restored as of T/'; }

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
      copied() { sed -E 's/.*"bytesPut":([0-9]+).*/\\1/'; }
      again=$(notelog backup my.notelog backup --json | copied); [ $((again * 2)) -lt $first ] && echo less
      notelog restore backup back | back; notelog restore backup new --json | sed -E 's/"(time|branch)":"[^"]*"/"\\1":V/g' | numbers
      notelog dump my.notelog --json $quick >before
      notelog dump back --json $quick | cmp - before && notelog verify back $quick >/dev/null && echo same
      id=$(notelog add back title=more $quick) && notelog get back $id title $quick; echo
      """
    let expected = """
      N objects copied, N segments there already; N bytes copied and verified
      less
      restored as of T
      {"revision":N,"time":V,"branch":V,"findings":[]}
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
      notelog restore backup back | back
      notelog list back -f title -w title=60 $quick | wc -l
      notelog verify back $quick | grep verdict
      """
    let expected = """
      N objects copied, N segments there already; N bytes copied and verified
      restored as of T
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
      notelog restore backup back | back && notelog list back -f title $quick | wc -l
      """
    try expect(script, .init(out: "2\n10\n10\n2\n10\nrestored as of T\n50\n"))
  }

  @Test func `a backup is verified, and damage in it exits 1 and costs no more than it must`() throws {
    let script = """
      notelog backup my.notelog backup >/dev/null
      notelog verify backup | numbers | grep -E '^(archive|verdict)'; notelog verify backup >/dev/null; echo $?
      notelog verify backup --json $quick | grep -o '"condition":"sound"\\|"archivedObjects":[0-9]*'
      for name in $(cd backup; ls | grep -v store); do
        cp -r backup rotten; printf X | dd of=rotten/$name bs=1 seek=40 conv=notrunc status=none
        notelog verify rotten >found 2>/dev/null; echo "${name%%-*} $? $(grep -c '^finding' found)"
        notelog restore rotten new >/dev/null 2>&1; echo $?; notelog list new -f title $quick 2>/dev/null | wc -l
        rm -r rotten new
      done
      """
    let expected = """
      archive    N objects, as of revision N
      verdict    sound
      0
      "condition":"sound"
      "archivedObjects":3
      k 1 2
      3
      0
      l 1 1
      3
      50
      l 1 1
      3
      50
      p 1 1
      3
      50

      """
    try expect(script, .init(out: expected))
  }

  /// The good copy was removed.
  @Test func `a backup of a store that lost a segment keeps the copy that it has, and exits 3`() throws {
    let script = """
      notelog backup my.notelog backup >/dev/null
      rm my.notelog/000000000001.journal
      notelog backup my.notelog backup >/dev/null 2>err; echo $?; grep -c 'segment 1: the segment is missing' err
      notelog verify backup >/dev/null; echo $?
      notelog restore backup back | back && notelog list back -f title $quick | wc -l
      """
    try expect(script, .init(out: "3\n1\n0\nrestored as of T\n50\n"))
  }

  @Test func `an object that rotted is put again by --check`() throws {
    let script = """
      notelog backup my.notelog backup >/dev/null
      object=backup/$(ls backup | grep '^l-' | head -1)
      printf X | dd of=$object bs=1 seek=90000 conv=notrunc status=none
      notelog verify backup >/dev/null 2>err; echo $?; grep hint err
      notelog backup my.notelog backup --check | numbers; notelog backup my.notelog backup --check --json | numbers
      notelog verify backup >/dev/null; echo $?
      """
    let expected = """
      1
      notelog: hint: 'notelog backup STORE backup --check' puts again what the store still has
      N objects copied (N damaged in the backup), N segments there already; N bytes copied and verified
      {"revision":N,"objectsPut":N,"segmentsKept":N,"objectsMended":N,"bytesPut":N,"gap":false,"findings":[]}
      0

      """
    try expect(script, .init(out: expected))
  }

  @Test func `a folder inside the store is refused for a backup, and so is one inside a backup for a store`()
    throws
  {
    let script = """
      notelog backup my.notelog my.notelog/backup; echo $?
      notelog salvage my.notelog --to ./my.notelog/../my.notelog/new; echo $?
      ln -s my.notelog link; notelog backup my.notelog link/backup; echo $?
      notelog backup my.notelog backup >/dev/null; notelog restore backup backup/new; echo $?
      notelog restore backup . 2>/dev/null; echo $?
      ls my.notelog backup | grep -c 'new\\|backup$'
      """
    let errors = """
      notelog: error: 'my.notelog/backup' lies inside 'my.notelog': name a folder elsewhere
      notelog: error: './my.notelog/../my.notelog/new' lies inside 'my.notelog': name a folder elsewhere
      notelog: error: 'link/backup' lies inside 'my.notelog': name a folder elsewhere
      notelog: error: 'backup/new' lies inside 'backup': name a folder elsewhere

      """
    try expect(script, .init(1, out: "2\n2\n2\n2\n2\n0\n", err: errors))
  }

  @Test
  func `a keyring that was changed goes beside the backup's without the password, and restoring needs it`()
    throws
  {
    let script = """
      notelog backup my.notelog backup >/dev/null
      notelog key add my.notelog diary $quick
      notelog backup my.notelog backup 2>&1 | numbers
      printf 'wrong\n' >wrong; chmod 600 wrong
      notelog backup my.notelog backup --password-file wrong; echo $?
      notelog restore backup back; echo $?; ls back 2>/dev/null | wc -l
      notelog restore backup back --password-file wrong 2>/dev/null; echo $?
      notelog restore backup back $quick | back && notelog key list back $quick | wc -l
      notelog verify backup $quick | grep verdict; ls backup | grep -c '^k-'
      notelog backup my.notelog backup $quick >/dev/null; ls backup | grep -c '^k-'
      notelog restore backup again | back
      """
    let out = """
      notelog: note: the backup has several keyrings: 'restore' asks for the password, and 'backup' with it lets the others go
      N objects copied, N segments there already; N bytes copied and verified
      12
      12
      0
      12
      restored as of T
      2
      verdict    sound
      2
      1
      restored as of T

      """
    let err = """
      notelog: error: the password or key does not open this store
      notelog: note: the archive holds 2 keyrings: which of them goes with the moment, only a password or key can tell
      notelog: error: a password is needed, and there is no terminal to ask on
      notelog: hint: give it with --password-file FILE, or keep the store unlocked with 'notelog unlock'

      """
    try expect(script, .init(out: out, err: err))
  }
}
