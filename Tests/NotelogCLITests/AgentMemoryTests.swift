// What is left in the memory of the tool and of its agent: searched from outside, in /proc/PID/mem.

#if os(Linux)
  import Foundation
  import Notelog
  import NotelogTestSupport
  import Testing

  @Suite(.serialized) struct AgentMemoryTests {
    /// Not ASCII, so that its normal form has to be looked at.
    static let password = "größer als 4711 Berge"

    let bench: Workbench
    let root: [UInt8]
    /// The root in pieces: a register that was saved holds eight bytes of it, or sixteen.
    var secrets: [[UInt8]] {
      stride(from: 0, to: 32, by: 8).map { Array(root[$0..<$0 + 8]) } + [Array(Self.password.utf8)]
    }

    private static let prelude = """
      export XDG_RUNTIME_DIR=$PWD/run
      quick="--password-file password"

      """

    /// A store, whose root is known here, and an agent that may keep it.
    init() throws {
      bench = try Workbench()
      try bench.write("password", Self.password + "\n")
      let made = try bench.run(
        Self.prelude + """
          mkdir -m 700 run; notelog init my.notelog $quick --scrypt-log-n 14 2>/dev/null
          notelog add my.notelog title=Hello $quick >/dev/null
          echo another >other; notelog init second.notelog --password-file other --scrypt-log-n 14 2>/dev/null
          """)
      try #require(made.code == 0, "\(made)")
      let store = try Store.open(
        at: bench.folder.appending(path: "my.notelog").path, unlocking: .password(Self.password))
      root = try store.unlockRoot().withBytes { bytes in
        let bytes = Span<UInt8>(_bytes: bytes)
        return bytes.indices.map { bytes[$0] }
      }
      try store.close()
    }

    /// Starts something in the background of a script that ends, and says its process.
    private func start(_ script: String) throws -> Int32 {
      let answer = try bench.run(Self.prelude + script)
      return try #require(Int32(answer.out.trimmingCharacters(in: .whitespacesAndNewlines)), "\(answer)")
    }

    private func run(_ script: String) throws { #expect(try bench.run(Self.prelude + script).code == 0) }

    /// How often a piece of the root, and the password, are found in all of a process's memory.
    private func occurrences(in process: Int32) throws -> [Int] {
      let found = try ProcessMemory.occurrences(of: secrets, in: process)
      return [found.dropLast().max() ?? 0, found.last ?? 0]
    }

    private func startAgent() throws -> Int32 {
      try start("mkfifo said; notelog agent >said & read -r line <said; echo $!")
    }

    // MARK: the agent

    @Test func `other processes of the user can't look into the agent, and it leaves no core dump`() throws {
      let agent = try startAgent()
      defer { kill(agent, SIGKILL) }
      try run("notelog unlock my.notelog $quick")
      // The kernel gives what belongs to such a process to the administrator, and lets only that one read it.
      #expect(try bench.run("stat -c %U /proc/\(agent)/mem").out == "root\n")
      if geteuid() != 0 { #expect(throws: ProcessMemory.Unreadable.self) { try occurrences(in: agent) } }
      if geteuid() == 0 {
        #expect(
          try bench.run("grep -o 'Max core file size.*' /proc/\(agent)/limits | tr -s ' '").out
            == "Max core file size 0 0 bytes \n")
        // Some memory is locked, and left out of dumps.
        #expect(try bench.run("grep -c '^VmFlags:.* lo .*dd' /proc/\(agent)/smaps").out != "0\n")
      }
    }

    /// The bug: the tool was linked lazily, and the first call of a function saved the registers, with the
    /// root in them, on the agent's stack. It stayed there, mostly where another store was kept still.
    @Test(arguments: ["notelog lock", "notelog agent lock my.notelog", nil], [false, true])
    func
      `the agent keeps the root and never the password, and nothing of it once it is locked or its time is over`(
        lock: String?, keepsAnother: Bool
      ) throws
    {
      // Only the administrator can look.
      guard geteuid() == 0 else { return }
      let agent = try startAgent()
      defer { kill(agent, SIGKILL) }
      if keepsAnother { try run("notelog unlock second.notelog --password-file other") }
      try run("notelog unlock my.notelog --for \(lock == nil ? "3s" : "1h") $quick")
      // Kept, and given to somebody: the search finds it, so it can find it.
      try run("notelog list my.notelog --field title </dev/null")
      let before = try occurrences(in: agent)
      #expect(before[0] == 1 && before[1] == 0, "\(before)")
      if let lock {
        try run(lock)
        #expect(try occurrences(in: agent) == [0, 0])
      } else {
        // Nobody asks it meanwhile. Where it forgot to forget, this would go on until the test run is ended.
        while try occurrences(in: agent)[0] >= before[0] { #expect(kill(agent, 0) == 0) }
        #expect(try occurrences(in: agent) == [0, 0])
      }
      #expect(kill(agent, 0) == 0)
      if keepsAnother, lock != "notelog lock" { try run("notelog list second.notelog </dev/null") }
    }

    // MARK: its clients

    /// The tool's output goes into a full pipe, so it waits at its very end: with the store closed and before
    /// it exits.
    private func startAndAwaitEnd(of command: String) throws -> Int32 {
      try start(
        """
        mkfifo full; exec 3<>full; head -c 65536 /dev/zero >&3
        \(command) >full 2>err & tool=$!
        echo $tool
        # Number 1 or 64 is write(2), by machine; its first argument is the descriptor.
        until grep -q -e '^1 0x1 ' -e '^64 0x1 ' /proc/$tool/syscall; do kill -0 $tool || exit 9; done
        # The pipe must stay open for as long as it is looked at.
        tail --pid=$tool -f /dev/null >/dev/null 2>&1 &
        """)
    }

    @Test(arguments: [
      "notelog list my.notelog $quick", "notelog list my.notelog --password-command 'cat password'",
      "notelog list my.notelog --password-fd 6 6<password", "notelog list my.notelog",
      "notelog unlock my.notelog $quick",
    ])
    func `at its end no command has the root or the password in its memory`(command: String) throws {
      let agent = try startAgent()
      defer { kill(agent, SIGKILL) }
      if !command.contains("password"), !command.contains("quick") {
        try run("notelog unlock my.notelog $quick")
      }
      let tool = try startAndAwaitEnd(of: command)
      defer { kill(tool, SIGKILL) }
      #expect(try occurrences(in: tool) == [0, 0])
    }

    @Test func `while a store is open its root is found, and the password is not`() throws {
      for credential in ["$quick", "--password-command 'cat password'", ""] {
        let agent = try startAgent()
        defer { kill(agent, SIGKILL) }
        if credential.isEmpty { try run("notelog unlock my.notelog $quick") }
        let tool = try start(
          """
          rm -f said lines acks; mkfifo lines
          notelog import my.notelog lines --batch 1 --ack \(credential) >acks 2>err </dev/null & tool=$!
          exec 3>lines; echo '{"fields":{"title":"x"}}' >&3
          until [ -s acks ]; do kill -0 $tool || exit 9; done
          echo $tool
          tail --pid=$tool -f /dev/null >/dev/null 2>&1 &
          """)
        defer { kill(tool, SIGKILL) }
        let found = try occurrences(in: tool)
        #expect(found[0] > 0 && found[1] == 0, "\(credential): \(found)")
      }
    }
  }
#endif
