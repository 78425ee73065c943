// A store kept unlocked between commands: by the agent, and by the kernel's keyring.
import Foundation
import NotelogTestSupport
import Testing

@testable import NotelogCLI

/// What a test with an agent begins with: a folder for its socket, and a store with one note. The agent is
/// ended with the script.
let agentPrelude =
  passwordPrelude + """
    export XDG_RUNTIME_DIR=$PWD/run; mkdir -m 700 run
    trap 'chmod 700 run/notelog 2>/dev/null; notelog agent stop >/dev/null 2>&1' EXIT
    notelog add my.notelog title=Hello $quick >/dev/null
    titles() { notelog list my.notelog --field title "$@" </dev/null | sed 's/.*\t//'; }
    kept() { notelog agent status "$@" 2>&1 | sed -E 's/^[0-9a-f]{32} //; s/[0-9]+s left/some left/'; }

    """

// One after another: what the kernel keeps is the same for all of a user's processes, and `agent status`
// shows it.
@Suite(.serialized) struct AgentTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `a store that is unlocked once opens without a password, until it is locked`() throws {
    let script = """
      titles; echo $?
      notelog unlock my.notelog --for 90s $quick
      titles
      id=$(printf 'from a pipe' | notelog add my.notelog title=-); notelog get my.notelog $id title; echo
      notelog search my.notelog pipe | wc -l; kept; kept my.notelog
      notelog lock my.notelog; kept; titles
      """
    let asked = """
      notelog: error: a password is needed, and there is no terminal to ask on
      notelog: hint: give it with --password-file FILE, or keep the store unlocked with 'notelog unlock'

      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          0
          unlocked for 1m 30s
          Hello
          from a pipe
          1
           kept by the agent, 1m some left
           kept by the agent, 1m some left
          notelog: error: nothing is kept, and no agent is running

          """, err: asked + asked))
  }

  @Test func `an agent keeps several stores, and a credential that is given comes before it`() throws {
    let script = """
      printf 'another one' >other; notelog init second.notelog --password-file other --scrypt-log-n 14 2>/dev/null
      notelog agent >/dev/null & agent=$!
      until [ -S run/notelog/agent ]; do kill -0 $agent || exit 9; done
      notelog unlock my.notelog $quick >/dev/null; notelog unlock second.notelog --password-file other >/dev/null
      kept | wc -l; titles; notelog list second.notelog; echo $?
      notelog list my.notelog --password-file other 2>&1
      notelog agent lock second.notelog; kept | wc -l
      notelog lock; kept; kill -0 $agent && echo still there
      notelog agent; echo $?
      notelog agent stop; wait $agent; echo $?; ls run/notelog
      notelog agent stop; echo $?
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          2
          Hello
          0
          notelog: error: the password or key does not open this store
          1
          notelog: error: nothing is kept
          still there
          11
          0
          1

          """, err: "notelog: error: an agent is running already\nnotelog: error: no agent is running\n"))
  }

  @Test
  func `the time is the shorter of what is asked and what the agent allows, and is given in plain units`()
    throws
  {
    let script = """
      mkfifo said; notelog agent --for 30m >said & read -r line <said; echo "${line##*/}"
      notelog unlock my.notelog --for 2h $quick
      notelog agent status --json | sed 's/.*"secondsLeft":1[78]../less than 30 minutes/'
      for time in 0s 15 25h 2d -1s 99999999999s; do notelog unlock my.notelog --for=$time $quick 2>&1; done
      notelog unlock my.notelog --keep elsewhere $quick 2>&1
      """
    let refused = ["0s", "15", "25h", "2d", "-1s", "99999999999s"].map {
      "notelog: error: --for takes a time like 90s, 15m, 12h or 30d, up to 24h, not '\($0)'\n"
    }
    try bench.expect(
      agentPrelude + script,
      .init(
        64,
        out: "agent\nunlocked for 2h\nless than 30 minutes}\n" + refused.joined()
          + "notelog: error: --keep takes agent or kernel, not 'elsewhere'\n"))
  }

  /// A machine may sleep, and a process may be stopped, for longer than the time: what comes first then is
  /// the clock.
  @Test func `an agent that was stopped past the time gives nothing any more`() throws {
    let script = """
      notelog agent >/dev/null & agent=$!
      until [ -S run/notelog/agent ]; do kill -0 $agent || exit 9; done
      notelog unlock my.notelog --for 1s $quick >/dev/null; end=$(($(date +%s) + 2))
      kill -STOP $agent; until [ $(date +%s) -gt $end ]; do :; done; kill -CONT $agent
      titles 2>&1 | head -1; kept
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          notelog: error: a password is needed, and there is no terminal to ask on
          notelog: error: nothing is kept

          """))
  }

  @Test(arguments: ["TERM", "INT", "HUP"])
  func `a signal that ends the agent leaves no socket, and exits 0`(signal: String) throws {
    let script = """
      mkfifo said; notelog agent >said & agent=$!; read -r line <said
      notelog unlock my.notelog $quick; kill -\(signal) $agent; wait $agent; echo $?; ls run/notelog; kept
      """
    // A shell has what it starts in the background ignore SIGINT; the agent hears it all the same.
    try bench.expect(
      agentPrelude + script,
      .init(out: "unlocked for 15m\n0\nnotelog: error: nothing is kept, and no agent is running\n"))
  }

  @Test func `an agent that was killed leaves a socket that nobody minds, and the next one takes its place`()
    throws
  {
    let script = """
      mkfifo said; notelog agent >said & agent=$!; read -r line <said
      notelog unlock my.notelog $quick; { kill -KILL $agent; wait $agent; } 2>/dev/null; [ -S run/notelog/agent ] && echo left
      titles 2>&1 | head -1; kept
      notelog unlock my.notelog $quick; titles
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          unlocked for 15m
          left
          notelog: error: a password is needed, and there is no terminal to ask on
          notelog: error: nothing is kept, and no agent is running
          unlocked for 15m
          Hello

          """))
  }

  @Test
  func `an agent keeps nothing of its caller's open, and ends when it keeps nothing if unlock started it`()
    throws
  {
    let script = """
      # A pipe whose writing end the agent had inherited would never end.
      { notelog unlock my.notelog $quick; } 3>&1 | cat
      [ -S run/notelog/agent ] && notelog lock
      until [ ! -S run/notelog/agent ]; do :; done; echo gone
      mkfifo said; { notelog agent >said & read -r line <said; echo "${line##*/}"; } 3>&1 | cat
      """
    try bench.expect(agentPrelude + script, .init(out: "unlocked for 15m\ngone\nagent\n"))
  }

  // MARK: whose it is

  @Test func `folder and socket are the user's alone, whatever the umask`() throws {
    let script = """
      umask 0; mkfifo said; notelog agent >said & read -r line <said
      stat -c '%A %n' run/notelog run/notelog/agent
      """
    try bench.expect(
      agentPrelude + script, .init(out: "drwx------ run/notelog\nsrw------- run/notelog/agent\n"))
  }

  @Test(arguments: [
    ("mkdir -m 755 run/notelog", "the folder 'RUN' is not the user's alone"),
    (
      "mkdir -m 700 other; ln -s $PWD/other run/notelog",
      "'RUN' is no folder of its own: it is a link or a file"
    ),
    ("touch run/notelog", "'RUN' is no folder of its own: it is a link or a file"),
  ])
  func
    `a folder that is a link, a file or open to others is not used, and no reason not to ask for the password`(
      make: String, message: String
    ) throws
  {
    let script = """
      \(make)
      notelog agent 2>&1 | head -1; notelog list my.notelog 2>&1 </dev/null | sed -n 1,2p
      titles $quick; notelog unlock my.notelog $quick 2>&1 | head -1; ls other 2>/dev/null
      """
    let answer = try bench.run(agentPrelude + script)
    let said = message.replacing("RUN", with: "\(bench.folder.path)/run/notelog")
    #expect(
      answer.out.replacing("/private/", with: "/") == """
        notelog: error: \(said)
        notelog: warning: \(said)
        notelog: error: a password is needed, and there is no terminal to ask on
        Hello
        notelog: error: \(said)

        """)
  }

  @Test func `a link in the socket's place is not followed, by clients or by the next agent`() throws {
    let script = """
      mkfifo said; notelog agent >said & read -r line <said; notelog unlock my.notelog $quick
      mv run/notelog/agent elsewhere; ln -s $PWD/elsewhere run/notelog/agent
      titles 2>&1 | head -1; kept
      mv elsewhere run/notelog/agent; titles; notelog agent stop
      echo precious >file; ln -s $PWD/file run/notelog/agent
      notelog unlock my.notelog $quick; cat file; [ -S run/notelog/agent ] && [ ! -L run/notelog/agent ] && titles
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          unlocked for 15m
          notelog: error: a password is needed, and there is no terminal to ask on
          notelog: error: nothing is kept, and no agent is running
          Hello
          unlocked for 15m
          precious
          Hello

          """))
  }

  @Test func `another user gets nothing, even through an open door`() throws {
    // Only the administrator can become somebody else.
    guard geteuid() == 0, try bench.run("setpriv --version").code == 0 else { return }
    let script = """
      mkfifo said; notelog agent >said & read -r line <said; notelog unlock my.notelog $quick >/dev/null
      chmod 711 . run run/notelog; chmod 666 run/notelog/agent
      # To connect is all that the modes permit now; the agent asks the kernel who it is.
      cat >ask.pl <<'END'
      use Socket; $SIG{PIPE} = 'IGNORE';
      socket(my $agent, PF_UNIX, SOCK_STREAM, 0);
      connect($agent, pack_sockaddr_un('run/notelog/agent')) or die "no connection";
      syswrite($agent, "\\x02\\x00\\x03\\x04");
      print sysread($agent, my $reply, 100) || 'nothing', "\\n";
      END
      chmod 644 ask.pl; perl ask.pl; setpriv --reuid 65534 --clear-groups perl ask.pl
      """
    try bench.expect(agentPrelude + script, .init(out: "24\nnothing\n"))
  }

  // MARK: what it is not asked for

  /// The bug: `key recovery` and `key grant` took what was kept, so that whoever came by an unlocked agent
  /// made a way in that lasts.
  @Test
  func
    `commands that change what opens a store ask for a password, whatever is kept; what needs no key takes none`()
    throws
  {
    let script = """
      notelog unlock my.notelog $quick
      notelog key recovery my.notelog 2>&1 | head -1
      notelog key grant my.notelog default --yes --new-password-file password 2>&1 | head -1
      for command in add change; do
        notelog password $command my.notelog --new-password-file password 2>&1 | head -1
      done
      notelog password remove my.notelog 2>&1 | head -1; notelog password remove my.notelog 0 2>&1 | head -1
      notelog verify my.notelog | grep '^tags'
      """
    let asked = "notelog: error: a password is needed, and there is no terminal to ask on\n"
    try bench.expect(
      agentPrelude + script,
      .init(
        out: "unlocked for 15m\n" + String(repeating: asked, count: 6)
          + "tags       not checked: 1 sealed value, no key was given\n"))
  }

  @Test func `what can do without a key takes what is kept where it is told to, and asks where nothing is`()
    throws
  {
    let script = """
      notelog unlock my.notelog $quick
      title() { sed 's/,"body":null//; s/.*"title":\\([^}]*\\).*/\\1/'; }
      notelog dump my.notelog --json | title
      notelog dump my.notelog --json --unlock | title
      notelog dump my.notelog | grep -c 'title *sealed under key 1'; notelog dump my.notelog --unlock | grep -c 'title  *Hello'
      notelog key list my.notelog | sed 's/.*  //'; notelog key list my.notelog --unlock | sed 's/.*  //'
      notelog info my.notelog | sed -n 's/^key *1, \\([^,]*\\),.*/\\1/p'
      notelog info my.notelog --unlock | sed -n 's/^key *1, \\([^,]*\\),.*/\\1/p'
      notelog verify my.notelog | grep '^tags'; notelog verify my.notelog --unlock | grep '^tags'
      notelog lock
      notelog dump my.notelog --unlock 2>&1 | head -1; notelog verify my.notelog --unlock 2>&1 | head -1
      notelog dump my.notelog --frames --unlock 2>&1; echo $?
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          unlocked for 15m
          {"sealed":45,"key":1
          "Hello"
          1
          1
          its name is sealed
          default
          its name is sealed
          default
          tags       not checked: 1 sealed value, no key was given
          tags       sound: 1 value opened
          notelog: error: a password is needed, and there is no terminal to ask on
          notelog: error: a password is needed, and there is no terminal to ask on
          notelog: error: --frames opens nothing, and --unlock is for records
          64

          """))
  }

  @Test func `a new root is kept by nobody, and the old one no longer`() throws {
    let script = """
      printf 'a new one' >new
      notelog unlock my.notelog $quick
      notelog password change my.notelog --rekey --yes $quick --new-password-file new --scrypt-log-n 14 2>/dev/null
      kept my.notelog
      titles 2>&1 | head -1; titles --password-file new 2>/dev/null
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          unlocked for 15m
          notelog: error: nothing is kept, and no agent is running
          notelog: error: a password is needed, and there is no terminal to ask on
          Hello

          """))
  }

  @Test func `what is kept outlives a change of password, and what does not open any more is said`() throws {
    let script = """
      printf 'a new one' >new
      notelog unlock my.notelog $quick
      notelog password change my.notelog $quick --new-password-file new --scrypt-log-n 14 2>/dev/null; titles
      # A keyring that was altered, under a digest that was made to fit.
      printf 'XXXX' | dd of=my.notelog/keyring bs=1 seek=$(($(stat -c %s my.notelog/keyring) - 60)) conv=notrunc status=none
      cp my.notelog/keyring my.notelog/keyring.copy
      python3 - <<'END'
      import hashlib
      for name in ('keyring', 'keyring.copy'):
        path = 'my.notelog/' + name
        bytes = open(path, 'rb').read()[:-32]
        open(path, 'wb').write(bytes + hashlib.sha256(bytes).digest())
      END
      titles 2>&1; titles --password-file new 2>&1 | head -1
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          unlocked for 15m
          Hello
          notelog: warning: what is kept of this store does not open it any more
          notelog: error: a password is needed, and there is no terminal to ask on
          notelog: hint: give it with --password-file FILE, or keep the store unlocked with 'notelog unlock'
          notelog: error: unlocking the store: the keyring was altered; restore it from a backup

          """))
  }

  /// The bug: `lock` exited 0 there, and an agent that had been started elsewhere kept the root.
  @Test
  func
    `without XDG_RUNTIME_DIR no agent is reached: what is to reach one says so, and other commands nothing`()
    throws
  {
    let script = """
      notelog agent >/dev/null & agent=$!
      until [ -S run/notelog/agent ]; do kill -0 $agent || exit 9; done
      notelog unlock my.notelog $quick >/dev/null
      (
        unset XDG_RUNTIME_DIR; titles $quick
        for command in "unlock my.notelog $quick" agent lock "lock my.notelog" "agent stop" "agent status"; do
          notelog $command; echo $?
        done
      )
      titles
      """
    let error = """
      notelog: error: no agent can be reached: XDG_RUNTIME_DIR is not set
      notelog: hint: set it to a folder that only you can enter, and that is no disk's

      """
    try bench.expect(
      agentPrelude + script,
      .init(out: "Hello\n2\n2\n2\n2\n2\n2\nHello\n", err: String(repeating: error, count: 6)))
  }

  // MARK: the kernel's keyring

  @Test func `the kernel's keyring keeps a store too, or a clear message says that it can't be had`() throws {
    if let refusal = KernelKeyring.refusal {
      try bench.expect(
        agentPrelude + "notelog unlock my.notelog --keep kernel $quick",
        .init(
          2,
          err: "notelog: error: the kernel's keyring cannot be used here: \(refusal)\n"
            + "notelog: hint: keep it with an agent: --keep agent\n"))
      return
    }
    let script = """
      notelog unlock my.notelog --keep kernel --for 1h $quick; titles; kept my.notelog
      ls run; env -u XDG_RUNTIME_DIR notelog list my.notelog --field title | sed 's/.*\t//'
      notelog unlock my.notelog --keep kernel --for 1h $quick; kept my.notelog
      notelog lock my.notelog; kept my.notelog; titles 2>&1 | head -1
      notelog unlock my.notelog --keep kernel --for 1s $quick
      until ! notelog agent status my.notelog >/dev/null 2>&1; do :; done; titles 2>&1 | head -1
      """
    try bench.expect(
      agentPrelude + script,
      .init(
        out: """
          unlocked for 1h
          Hello
           kept by the kernel
          Hello
          unlocked for 1h
           kept by the kernel
          notelog: error: nothing is kept, and no agent is running
          notelog: error: a password is needed, and there is no terminal to ask on
          unlocked for 1s
          notelog: error: a password is needed, and there is no terminal to ask on

          """))
  }
}
