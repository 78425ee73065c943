// The tool, killed with `kill -9` at random moments: what it acknowledged is there.
import NotelogTestSupport
import Testing

@Suite struct KilledToolCrashTests {
  /// How many times each is killed while it is at work.
  static let goal = TestEffort.isSoak ? 200 : 5

  /// Kills the tool after a random time. Where it had ended by then, the time becomes shorter, so that it is
  /// hit on any machine.
  static let killer = """
    hits=0; round=0; longest=60
    strike() {
      loops=$(awk "BEGIN { srand($round); print int(rand() * $longest) }")
      for loop in $(seq $loops); do ls >/dev/null; done
      kill -9 $1 2>/dev/null
      wait $1 2>/dev/null
      if [ $? = 137 ]; then hits=$((hits + 1)); longest=$((longest + 2)); else longest=$((longest / 2)); fi
    }

    """

  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Lines that write fifty records over and over, each time with a higher title.
  static let lines = """
    lines() {
      seq $1 $2 | awk '{
        printf "{\\"id\\":\\"00000000-0000-0000-0000-%012d\\",\\"fields\\":{\\"title\\":\\"%d\\",", $1 % 50 + 1, $1
        printf "\\"body\\":\\"%0900d\\"}}\\n", $1
      }'
    }
    gone() {
      seq 5 | awk -v round=$1 '{
        printf "{\\"id\\":\\"00000000-0000-0000-0000-%012d\\",\\"fields\\":{\\"title\\":\\"gone\\"}}\\n", 100000 + round * 10 + $1
      }'
    }

    """

  @Test func `every acknowledged line of an import is there, at its version or a later one`() throws {
    // A round: add records and remove them, import from line `from` on, kill after a random number of
    // acknowledgements, check each record's title against the last acknowledged line that wrote it, and that
    // what was removed stays so.
    let script = """
      notelog init big $quick --scrypt-log-n 14 --segment-size 1M 2>/dev/null
      from=1
      for round in $(seq \(Self.goal)); do
        gone $round | notelog import big --durable --ack $quick >gone
        notelog remove big $(cat gone) >/dev/null
        [ $((round % 5)) != 0 ] || notelog compact big >/dev/null || exit 8
        lines $from $((from + 5000)) >lines
        : >acks
        notelog import big lines --durable --ack --batch 7 $quick >acks &
        tool=$!
        goal=$(awk "BEGIN { srand($round); print int(rand() * 1500) + 1 }")
        until [ $(wc -l <acks) -ge $goal ]; do kill -0 $tool || exit 9; done
        kill -9 $tool
        wait $tool 2>/dev/null
        acked=$(wc -l <acks)
        notelog verify big $quick >verdict || { echo "round $round: verify"; cat verdict; exit 1; }
        notelog dump big --json $quick |
          sed 's/.*"id":"[0-9-]*-0*\\([0-9]*\\)".*"title":"\\([0-9a-z]*\\)".*/\\1 \\2/' >titles || exit 2
        awk -v from=$from -v acked=$acked '
          { title[$1] = $2 }
          $2 == "gone" { print "record", $1, "is back"; back = 1 }
          END {
            if (back) exit 1
            for (line = from; line < from + acked; line++) last[line % 50 + 1] = line
            for (id in last) if (title[id] + 0 < last[id]) { print "record", id, title[id], "acknowledged", last[id]; exit 1 }
          }' titles || { echo "round $round: lost"; exit 3; }
        from=$((from + 5001))
      done
      """
    try bench.expect(storePrelude + Self.lines + script, .init())
  }

  @Test func `a compaction that is killed loses nothing`() throws {
    let script = """
      notelog init big $quick --scrypt-log-n 14 --segment-size 1M 2>/dev/null
      while [ $hits -lt \(Self.goal) ]; do
        round=$((round + 1))
        lines $((round * 4000)) $((round * 4000 + 3999)) | notelog import big $quick
        notelog dump big --json $quick >before
        notelog compact big >/dev/null &
        strike $!
        notelog verify big $quick >verdict || { echo "round $round: verify"; cat verdict; exit 1; }
        notelog dump big --json $quick | cmp - before || exit 2
      done
      """
    try bench.expect(storePrelude + Self.lines + Self.killer + script, .init())
  }

  @Test func `an init that is killed leaves a store, or a folder to make one in`() throws {
    let script = """
      while [ $hits -lt \(Self.goal) ]; do
        round=$((round + 1))
        rm -rf new
        notelog init new $quick --scrypt-log-n 14 2>/dev/null &
        strike $!
        notelog verify new >/dev/null 2>&1; code=$?
        case $code in
          0) ;;
          10) notelog init new $quick --scrypt-log-n 14 2>/dev/null || { echo "round $round: again"; exit 1; } ;;
          *) echo "round $round: $code"; exit 2 ;;
        esac
        notelog add new title=Hello $quick >/dev/null || { echo "round $round: add"; exit 3; }
        notelog verify new $quick >/dev/null || { echo "round $round: verify"; exit 4; }
      done
      """
    try bench.expect(storePrelude + Self.killer + script, .init())
  }

  @Test func `a change of password that is killed leaves the old one or the new one, never neither`() throws {
    let script = """
      notelog add my.notelog title=Hello $quick >/dev/null
      old=password
      while [ $hits -lt \(Self.goal) ]; do
        round=$((round + 1))
        echo "password $round" >new
        notelog password change my.notelog --password-file $old --new-password-file new --scrypt-log-n 14 2>/dev/null &
        strike $!
        if notelog list my.notelog --password-file new >/dev/null 2>&1; then
          cp new current; old=current
        else
          notelog list my.notelog --password-file $old >/dev/null || { echo "round $round: neither"; exit 1; }
        fi
        notelog verify my.notelog --password-file $old >verdict || { echo "round $round: verify"; cat verdict; exit 2; }
      done
      """
    try bench.expect(passwordPrelude + Self.killer + script, .init())
  }
}
