// Where the secrets of a running tool are not: its arguments, its environment, its files, a log, a temporary
// file.
import Foundation
import Testing

@Suite struct SecretTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `no secret reaches arguments, environment, a log or a file`() throws {
    // The import waits for its next line with the store open, unlocked and a commit behind it, and is looked
    // at.
    let script = """
      mkdir tmp; export TMPDIR=$PWD/tmp
      mkfifo pipe
      notelog import my.notelog pipe --batch 1 --ack $quick >acks 2>log &
      tool=$!
      # What whoever runs this has open is none of the tool's.
      for file in /proc/$$/fd/*; do readlink $file; done | grep '^/' >inherited
      exec 3>pipe
      printf '{"fields":{"title":"The eagle","body":"lands at noon"}}\\n' >&3
      until [ -s acks ]; do kill -0 $tool || exit 9; done
      { tr '\\0' '\\n' </proc/$tool/cmdline; tr '\\0' '\\n' </proc/$tool/environ; } >seen
      grep -c -e 'import' -e 'TMPDIR=' seen
      for file in /proc/$tool/fd/*; do readlink $file; done | grep '^/' | grep -v ^/dev/ | grep -vxFf inherited >open
      grep -c "^$PWD/my.notelog/.*journal" open
      # Nothing else is open but the store, the input and the outputs; the password's file no longer is.
      grep -v -e "^$PWD/my.notelog$" -e "^$PWD/my.notelog/" -e "^$PWD/pipe$" -e "^$PWD/acks$" -e "^$PWD/log$" -e '[.]streams-' open
      exec 3>&-; wait
      notelog password add my.notelog $quick --new-password-file password --scrypt-log-n 14 2>>log
      id=$(cat acks); notelog get my.notelog $id body $quick
      echo
      # The words are found where they are allowed to be: so the search can find them.
      grep -rl -e sesame password
      notelog dump my.notelog $quick >shown; grep -l -e eagle shown; rm shown
      grep -rla -e sesame -e eagle -e noon seen acks log my.notelog tmp
      find tmp -type f
      """
    try bench.expect(passwordPrelude + script, .init(out: "2\n1\nlands at noon\npassword\nshown\n"))
  }

  @Test func `a core dump would not hold what is locked`() throws {
    // The memory for secrets is marked so that no core dump takes it.
    let script = """
      mkfifo pipe
      notelog import my.notelog pipe --batch 1 --ack $quick >acks &
      tool=$!
      exec 3>pipe
      echo '{"fields":{"title":"x"}}' >&3
      until [ -s acks ]; do kill -0 $tool || exit 9; done
      grep '^VmFlags:.* lo .*dd' /proc/$tool/smaps | head -1 | grep -c wf
      exec 3>&-; wait
      """
    try bench.expect(passwordPrelude + script, .init(out: "1\n"))
  }
}
