// Work on several threads at once, and how long it took.
import CPeers
import Foundation
import Synchronization

enum Threads {
  /// Runs `body` on that many threads of their own and waits for all of them.
  ///
  /// - Returns: The seconds from the first start to the last end.
  static func run(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws -> Double {
    let failure = Mutex<(any Error)?>(nil)
    let start = nowNanoseconds()
    if count == 1 {
      try body(0)
    } else {
      let group = DispatchGroup()
      for index in 0..<count {
        group.enter()
        let thread = Thread {
          defer { group.leave() }
          do { try body(index) } catch { failure.withLock { $0 = error } }
        }
        thread.start()
      }
      group.wait()
    }
    if let error = failure.withLock({ $0 }) { throw error }
    return Double(nowNanoseconds() - start) / 1e9
  }
}

/// What the system counted of this process's reads and writes; nothing where it does not count.
struct ProcessIO {
  var calls = 0
  var bytesWritten = 0

  static var now: ProcessIO {
    var io = ProcessIO()
    guard let text = try? String(contentsOfFile: "/proc/self/io", encoding: .utf8) else { return io }
    for line in text.split(separator: "\n") {
      let parts = line.split(separator: ":")
      guard parts.count == 2, let value = Int(parts[1].trimmingCharacters(in: .whitespaces)) else { continue }
      switch parts[0] {
      case "syscr", "syscw": io.calls += value
      case "wchar": io.bytesWritten = value
      default: break
      }
    }
    return io
  }

  static func - (later: ProcessIO, earlier: ProcessIO) -> ProcessIO {
    ProcessIO(calls: later.calls - earlier.calls, bytesWritten: later.bytesWritten - earlier.bytesWritten)
  }
}
