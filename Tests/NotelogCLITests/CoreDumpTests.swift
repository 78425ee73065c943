// The tool's memory holds keys and opened values: it leaves no core dump.
import Foundation
import Testing

#if os(Linux)
  @Suite struct CoreDumpTests {
    /// The bug: secrets of our own are left out of core dumps, OpenSSL's key schedules, in its heap, were
    /// not.
    @Test func `the tool has no core dump written, whatever the limit it is started with`() throws {
      let script = """
        ulimit -S -c "$(ulimit -H -c)"; mkfifo secret
        notelog list my.notelog --password-file secret >/dev/null &
        tool=$!
        # It opens once the tool reads from the other end.
        exec 3>secret
        grep -o 'Max core file size.*' /proc/$tool/limits | tr -s ' '
        cat password >&3; exec 3>&-; wait $tool
        """
      try Workbench().expect(passwordPrelude + script, .init(out: "Max core file size 0 0 bytes \n"))
    }

    /// The bug: Swift's backtraces, on by default, print registers and the memory that they point to; and a
    /// signal from outside did not end the tool.
    @Test(arguments: ["SEGV", "ABRT", "ILL", "TRAP"])
    func `a tool that crashes says nothing of its registers and memory, and ends`(signal: String) throws {
      let script = """
        mkfifo secret; export SWIFT_BACKTRACE=enable=yes
        notelog list my.notelog --password-file secret >out 2>&1 & tool=$!
        exec 3>secret; kill -\(signal) $tool
        { wait $tool || echo $(($? > 128)) >code; } 2>/dev/null
        cat out code
        """
      try Workbench().expect(passwordPrelude + script, .init(out: "1\n"))
    }
  }
#endif
