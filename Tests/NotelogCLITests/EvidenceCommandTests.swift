// A store that keeps evidence, put back by whoever can write its files: what each command says and does.
import Foundation
import Testing

@Suite struct EvidenceCommandTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// A store of two records, and its folder as it was when there was one.
  static let prelude = """
    export XDG_STATE_HOME=$PWD/state
    (umask 077; printf '%032d' 7 >key)
    quick="--key-file key"
    notelog init my.notelog $quick --evidence
    id=$(notelog add my.notelog title=one $quick)
    cp -r my.notelog before
    notelog add my.notelog title=two $quick >/dev/null
    rows() { grep -E '^(evidence|head|finding|verdict)' | sed 's/, as of revision [0-9]*, [-0-9: ]*//'; }
    code() { "$@" >said 2>&1; echo $?; }
    known() { grep -c . state/notelog/heads/*; }

    """

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(Self.prelude + script, expected, location)
  }

  @Test
  func `a store that was put back is served, not written to, and said to be one until that is accepted`()
    throws
  {
    let script = """
      notelog verify my.notelog $quick | rows
      rm -r my.notelog; cp -r before my.notelog
      notelog verify my.notelog $quick 2>hint | rows; cat hint
      code notelog verify my.notelog $quick
      notelog list my.notelog $quick --field title 2>warning | sed 's/.*\\t//'; cat warning
      code notelog list my.notelog $quick
      code notelog set my.notelog $id title=other $quick; head -1 said
      code notelog key add my.notelog another $quick
      code notelog head my.notelog $quick
      code notelog compact my.notelog $quick
      notelog accept my.notelog $quick </dev/null; echo $?
      code notelog accept my.notelog $quick --yes; grep -c warning said
      code notelog set my.notelog $id title=other $quick; cat said
      notelog verify my.notelog $quick | rows
      code notelog accept my.notelog $quick --yes
      """
    let (older, ways) = (
      "the store is older than it was: it was at revision 5",
      "if you put a backup back: 'notelog accept my.notelog'; if you did not: 'notelog restore' the newest moment that was shipped, and compare; if it is damaged: 'notelog verify', then 'notelog salvage'"
    )
    let sound = """
      evidence   sound: nothing added, changed, dropped or put back
      head       compared with the one remembered of this path
      verdict    sound
      """
    let out = """
      \(sound)
      evidence   damaged: not what somebody with the key left
      finding    evidence: \(older)
      head       compared with the one remembered of this path
      verdict    damaged
      notelog: hint: \(ways)
      1
      one
      notelog: warning: evidence: \(older); \(ways)
      0
      3
      notelog: error: \(older): accept what is there, or restore the store
      3
      3
      0
      64
      0
      0
      0
      \(sound)
      1

      """
    let err = """
      notelog: note: evidence: \(older)
      notelog: note: collection note: time (date, plain, indexed), title (text, sealed under key 2), body (text, sealed under key 2)
      notelog: error: without a terminal to ask, --yes goes on
      notelog: warning: evidence: \(older); \(ways)

      """
    try expect(script, .init(out: out, err: err))
  }

  @Test
  func `INV-W4 heads are remembered by path, by what wrote and met no alarm, in files of the user's own`()
    throws
  {
    let script = """
      stat -c '%a' state/notelog/heads state/notelog/heads/*
      cp -r state kept; same() { diff -r state kept >/dev/null && echo same || echo other; }
      notelog list my.notelog $quick >/dev/null; notelog verify my.notelog $quick >/dev/null; same
      code notelog set my.notelog ffffffff title=x $quick; same
      notelog set my.notelog $id title=x $quick; same
      cp -r my.notelog now; rm -r my.notelog; cp -r before my.notelog; rm -r kept; cp -r state kept
      code notelog set my.notelog $id title=y $quick; code notelog compact my.notelog $quick; same
      # At another path nothing is known, until it was written to there.
      notelog list now $quick 2>&1 >/dev/null | sed "s:$PWD::"
      notelog verify now $quick | rows
      notelog set now $id title=y $quick 2>/dev/null; known
      notelog verify now $quick | rows | sed -n 2p
      # A link in the store's place is another place.
      rm -r my.notelog; ln -s before my.notelog
      notelog list my.notelog $quick 2>&1 >/dev/null | cut -c -40; rm my.notelog
      # What is forgotten, or can't be remembered, is said, and nothing is locked out.
      rm -r state; notelog verify now $quick | rows
      echo nonsense >state; notelog set now $id title=z $quick 2>&1 | cut -c -40
      """
    let unknown = """
      evidence   sound: nothing added, changed, dropped or put back
      head       no head known: whether all of it is an earlier moment, nothing tells
      verdict    sound
      """
    let out = """
      700
      600
      same
      1
      same
      other
      3
      0
      same
      notelog: note: the store was last seen at '/my.notelog': here it was compared with nothing
      \(unknown)
      2
      head       compared with the one remembered of this path
      notelog: warning: evidence: the store is
      \(unknown)
      notelog: warning: the store's head can't

      """
    try expect(script, .init(out: out))
  }

  @Test
  func `head prints what verify compares, of stores and of archives, and letters typed wrongly are found`()
    throws
  {
    let script = """
      head=$(notelog head my.notelog $quick)
      echo $head | tr 'A-Z0-9' 'x' ; notelog head my.notelog $quick --json | sed "s/$head/HEAD/"
      rm -r state
      notelog verify my.notelog $quick --head "$head" | rows
      notelog backup before box >/dev/null
      notelog verify box $quick | rows
      notelog verify box $quick --head "$head" | rows
      code notelog verify my.notelog $quick --head "${head%?}"; cat said
      notelog init plain.notelog $quick; code notelog head plain.notelog $quick; cat said
      notelog verify plain.notelog $quick --head "$head" | rows
      """
    let out = """
      xxxxxx-xxxxxx-xxxxxx-xxxxxx-xxxxxx-xxxxxx-xxxxxx-xxxxxx-xxxxxx-xxxxxx
      {"head":"HEAD"}
      evidence   sound: nothing added, changed, dropped or put back
      head       compared with the one given
      verdict    sound
      evidence   sound: nothing added, changed, dropped or put back
      head       no head known: whether all of it is an earlier moment, nothing tells
      verdict    sound
      evidence   damaged: not what somebody with the key left
      finding    evidence: the store is older than it was: it was at revision 5
      head       compared with the one given
      verdict    damaged
      2
      notelog: error: the head is not right: it has 59 letters and digits, not 60
      1
      notelog: error: the store keeps no evidence
      evidence   damaged: not what somebody with the key left
      finding    evidence: the store's evidence is missing, or not of this store and revision
      head       compared with the one given
      verdict    damaged

      """
    try expect(
      script,
      .init(
        out: out,
        err: """
          notelog: hint: if you put a backup back: 'notelog accept plain.notelog'; if you did not: 'notelog restore' the newest moment that was shipped, and compare; if it is damaged: 'notelog verify', then 'notelog salvage'

          """))
  }

  @Test func `evidence is turned on for a store that is there, and info and verify say as of when it is`()
    throws
  {
    let script = """
      notelog init plain.notelog $quick
      for title in one two three; do notelog add plain.notelog title=$title $quick >/dev/null; done
      notelog verify plain.notelog $quick | rows
      notelog info plain.notelog $quick --json | grep -o '"keepsEvidence":[a-z]*'
      notelog key evidence plain.notelog $quick
      notelog key evidence plain.notelog $quick --json
      notelog info plain.notelog | rows
      notelog info plain.notelog $quick | grep '^evidence' | sed 's/[0-9]/N/g'
      notelog info plain.notelog $quick --json | grep -oE '"keepsEvidence":[a-z]*,"evidenceRevision":[0-9]+,"evidenceTime":".{4}' | sed 's/Revision":[0-9]*/Revision":N/'
      notelog key list plain.notelog; notelog key list plain.notelog $quick
      notelog verify plain.notelog | rows
      notelog verify plain.notelog $quick | rows
      notelog verify plain.notelog $quick --json | grep -oE '"evidence":"[a-z]*"|"evidenceRevision":[0-9]+|"headKnown":[a-z]*' | sed 's/Revision":[0-9]*/Revision":N/'
      notelog key rotate plain.notelog notelog.evidence $quick --yes 2>/dev/null
      notelog verify plain.notelog $quick | rows
      """
    let sound = """
      evidence   sound: nothing added, changed, dropped or put back
      head       compared with the one remembered of this path
      verdict    sound
      """
    let out = """
      verdict    sound
      "keepsEvidence":false
      3 records sealed; evidence is kept of all
      {"sealed":0,"finished":true}
      evidence    kept; as of when, a key tells
      evidence    kept, as of revision N, NNNN-NN-NN NN:NN:NN
      "keepsEvidence":true,"evidenceRevision":N,"evidenceTime":"2026
      1  whenUnlocked  3 values  its name is sealed
      2  afterFirstUnlock  0 values  its name is sealed
      1  whenUnlocked  3 values  default
      2  afterFirstUnlock  0 values  notelog.evidence
      evidence   not checked: no key was given
      verdict    sound
      \(sound)
      "evidence":"sound"
      "evidenceRevision":N
      "headKnown":true
      3 values sealed anew under generation 3; generation 2 is given up
      \(sound)

      """
    try expect(script, .init(out: out))
  }

  @Test func `what is edited, imported and undone is remembered too, and a new root goes on`() throws {
    let script = """
      mkdir -m 700 /dev/shm/notelog-$$; export XDG_RUNTIME_DIR=/dev/shm/notelog-$$; trap 'rm -rf $XDG_RUNTIME_DIR' EXIT
      moved() { cp -r my.notelog then; "$@" >/dev/null 2>&1; cp -r my.notelog now
        rm -r my.notelog; mv then my.notelog; notelog verify my.notelog $quick 2>/dev/null | grep -c '^finding'
        rm -r my.notelog; mv now my.notelog; notelog verify my.notelog $quick | rows | tail -1; }
      moved env VISUAL="sed -i s/one/x/" notelog edit my.notelog $id title $quick
      moved notelog undo my.notelog $quick
      echo '{"fields":{"time":"2026-11-26T00:00:00Z","title":"three","body":""}}' >lines
      moved notelog import my.notelog lines $quick
      moved notelog remove my.notelog $id $quick
      (umask 077; printf '%032d' 8 >new; printf 'open sesame\\n' >password)
      notelog password add my.notelog $quick --new-password-file password --scrypt-log-n 14 2>/dev/null
      quick="--password-file password"
      notelog password change my.notelog --rekey --yes $quick --new-password-file password --scrypt-log-n 14 2>/dev/null
      notelog add my.notelog title=four $quick >/dev/null
      notelog verify my.notelog $quick | rows
      """
    let out =
      String(repeating: "1\nverdict    sound\n", count: 4) + """
        evidence   sound: nothing added, changed, dropped or put back
        head       compared with the one remembered of this path
        verdict    sound

        """
    try expect(script, .init(out: out))
  }
}
