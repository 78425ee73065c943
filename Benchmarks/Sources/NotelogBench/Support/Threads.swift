// Work on several threads at once, and how long it took.
import CPeers
import Foundation
import Synchronization

enum Threads {
  /// Runs `body` on that many threads that start together, and waits for all of them. One runs on the
  /// caller's.
  ///
  /// Where the machine has a processor for each, each stays on its own, and threads that it starts stay there
  /// too.
  ///
  /// - Returns: The seconds from the start to the last end.
  static func run(
    _ count: Int, staysPut: Bool = true, _ body: @escaping @Sendable (Int) throws -> Void
  ) throws -> Double {
    if count == 1 {
      let start = nowNanoseconds()
      try body(0)
      return seconds(since: start)
    }
    let work = Work(body)
    let (ready, done) = (DispatchGroup(), DispatchGroup())
    let go = DispatchSemaphore(value: 0)
    let isOneEach = staysPut && count <= ProcessInfo.processInfo.activeProcessorCount
    for index in 0..<count {
      ready.enter()
      done.enter()
      Thread {
        if isOneEach { stayOnProcessor(index) }
        ready.leave()
        go.wait()
        work.perform(index)
        done.leave()
      }.start()
    }
    ready.wait()
    let start = nowNanoseconds()
    for _ in 0..<count { go.signal() }
    done.wait()
    let elapsed = seconds(since: start)
    try work.end()
    return elapsed
  }

  /// What threads do, and what came of it. A thread outlives its work by a moment: what the work refers to
  /// must not.
  private final class Work: Sendable {
    private let body: Mutex<(@Sendable (Int) throws -> Void)?>
    private let failure = Mutex<(any Error)?>(nil)

    init(_ body: @escaping @Sendable (Int) throws -> Void) { self.body = Mutex(body) }

    @inline(never)
    func perform(_ index: Int) {
      do { try body.withLock { $0 }?(index) } catch { failure.withLock { $0 = error } }
    }

    func end() throws {
      body.withLock { $0 = nil }
      if let error = failure.withLock({ $0 }) { throw error }
    }
  }

  private static func seconds(since start: UInt64) -> Double { Double(nowNanoseconds() - start) / 1e9 }
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
