// The tool's memory holds keys and opened values: it leaves no core dump.
import Foundation
import Testing

#if os(Linux)
  @Suite struct CoreDumpTests {
    /// The bug: secrets of our own are left out of core dumps, OpenSSL's key schedules, in its heap, were not.
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
      try Workbench().expect(storePrelude + script, .init(out: "Max core file size 0 0 bytes \n"))
    }
  }
#endif
