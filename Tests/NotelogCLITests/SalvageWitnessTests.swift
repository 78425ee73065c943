// `salvage` beside what speaks for the frames that are lost, or for another store: the index, keyrings,
// header copies.
import Foundation
import Testing

@Suite struct SalvageWitnessTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(SalvageTests.prelude + script, expected, input: "", location)
  }

  @Test func `what a lost segment removed or changed does not come back in an older version`() throws {
    let script = """
      id() { printf '5a1ba6e0-0000-4000-8000-%012d' $1; }
      notelog remove my.notelog $(id 1) $(id 2) $(id 3) >/dev/null
      for i in 4 5 6; do printf '{"id":"%s","fields":{"title":"newer"}}\\n' $(id $i); done | notelog import my.notelog $quick
      printf '{"id":"%s","fields":{"title":"only there"}}\\n' $(id 99) | notelog import my.notelog $quick
      for i in $(seq 61 98); do note $i "note $i"; done | notelog import my.notelog $quick --batch 1
      place 99 | tail -1 | { read offset file; rm $file; }
      notelog info my.notelog 2>/dev/null | grep '^damage' | sed -E 's/[0-9]+/N/'
      salvage() { notelog salvage my.notelog --to $1 $2 >report; echo $?; grep -cE '^(stale|older)' report; }
      salvage new
      grep '^removed' report
      for i in 4 5 6; do grep -c "^lost .*record $(id $i): the record's newest version does not check" report; done
      grep '^lost .*more record' report | sed -E 's/[0-9]+/N/'
      notelog list new $quick >list; grep -cE "$(id 1)|$(id 2)|$(id 3)|$(id 4)|$(id 5)|$(id 6)|$(id 99)" list
      [ $(notelog dump my.notelog --json 2>/dev/null | wc -l) = $(wc -l <list) ] && echo 'as many as dump has'
      salvage older --older-versions
      notelog get older $(id 4) title $quick; echo; notelog get older $(id 1) title $quick 2>/dev/null; echo $?
      # Without an index nobody knows.
      rm my.notelog/index
      salvage blind
      notelog list blind $quick | grep -c 'note [1-6]$'
      """
    let out = """
      damage      contained, N records known to be lost
      3
      0
      removed    3 records, as they should be
      1
      1
      1
      lost       N more records: the index has no ids of them
      0
      as many as dump has
      3
      3
      note 4
      1
      3
      1
      6

      """
    try expect(script, .init(out: out))
  }

  @Test func `another store's keyring leads to no other store, and leaving everything out is not saving it`()
    throws
  {
    let script = """
      notelog init other $quick --scrypt-log-n 14 2>/dev/null
      cp -r my.notelog mixed; cp other/keyring other/keyring.copy mixed
      notelog salvage mixed --to new >report; echo $?
      grep -E '^(saved|keyring|verdict)' report | sed -E 's/, [0-9]+ bytes//'
      cp my.notelog/keyring my.notelog/keyring.copy new; notelog list new $quick | wc -l
      # Of two stores in one folder the keyring's is saved; the report says how to save the other.
      mkdir both; cp my.notelog/*.journal both; cp other/keyring both
      for file in other/*.journal; do cp $file both/other-$(basename $file); done
      notelog salvage both --to first >report; echo $?
      grep -E '^(saved|foreign)' report | sed -E 's/, [0-9]+ bytes//; s/[0-9a-f]{32}/ID/g'
      notelog salvage both --to second --store-id $(sed -n 's/^foreign.*--store-id \\([^ ]*\\).*/\\1/p' report) |
        grep '^saved' | sed -E 's/, [0-9]+ bytes//'
      notelog salvage other --to none --store-id 00000000000000000000000000000001 | grep -E '^(saved|verdict)' | sed -E 's/, [0-9]+ bytes//'
      """
    let out = """
      3
      saved      60 records
      keyring    of another store, left out: restore one from a backup to open what is sealed
      verdict    not all was saved
      60
      3
      saved      0 records
      foreign    store ID: --store-id ID saves that one
      saved      60 records
      saved      0 records
      verdict    not all was saved

      """
    try expect(script, .init(out: out))
  }

  @Test
  func
    `a keyring under another name comes along, and counts where the password opens it, or it is the only one`()
    throws
  {
    let script = """
      cp -r my.notelog old
      notelog key add my.notelog diary $quick
      cp my.notelog/keyring 'old/keyring (conflicted copy)'
      further() { sed -E 's/k-[0-9]{10}-[0-9a-f]{16}/K/'; }
      notelog salvage old --to new $quick | grep '^keyring' | further; notelog key list new | wc -l
      notelog salvage old --to safe | grep '^keyring' | further; notelog key list safe | wc -l
      rm my.notelog/keyring.copy; mv my.notelog/keyring my.notelog/k
      notelog salvage my.notelog --to other | grep '^keyring'; notelog list other $quick | wc -l
      """
    let out = """
      keyring    sound, and came along: found as 'keyring (conflicted copy)'
      keyring    another lies beside it as 'K': the newest that a given password opens is taken
      2
      keyring    sound, and came along
      keyring    another lies beside it as 'K': the newest that a given password opens is taken
      1
      keyring    sound, and came along: found as 'k'
      60

      """
    try expect(script, .init(out: out))
  }

  @Test func `files of keys that can be shredded come along`() throws {
    let script = """
      notelog init cards --empty $quick --scrypt-log-n 14 2>/dev/null
      notelog key add cards default --shreddable $quick >/dev/null 2>&1
      echo '{"name":"x","pin":"1234"}' >in.jsonl
      notelog import cards in.jsonl --from jsonl --into card --seal pin --yes $quick >/dev/null
      notelog salvage cards --to new $quick | tail -1
      notelog list new --field pin $quick | sed 's/.*\t//'
      cmp cards/*.effaceable new/*.effaceable && echo same
      """
    try expect(script, .init(out: "verdict    everything was saved\n1234\nsame\n"))
  }

  @Test func `a header that another segment's was written over costs no record`() throws {
    let script = """
      set -- my.notelog/*.journal; cp $2 kept
      for count in 512 4096 4608; do
        cp kept $2; dd if=$1 of=$2 bs=$count count=1 conv=notrunc status=none
        rm -rf new; notelog salvage my.notelog --to new | grep -E '^(read|saved|lost)' | sed -E 's/^read +[0-9]+ files/read/; s/, [0-9]+ bytes//'
      done
      """
    let answer = "read\nsaved      60 records\n"
    try expect(script, .init(out: answer + answer + answer))
  }
}
