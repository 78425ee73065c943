// The line that long work shows of itself, by a clock of the test's.
import Foundation
import Synchronization
import Testing

@testable import NotelogCLI

@Suite struct ProgressTests {
  /// What is shown of steps, each with the milliseconds that it takes.
  private func shown(
    _ steps: [(milliseconds: Int, done: Int, total: Int)], unit: String? = nil, isDone: Bool = false
  ) throws -> String {
    let path = FileManager.default.temporaryDirectory.appending(path: "progress-\(UUID().uuidString)").path
    _ = FileManager.default.createFile(atPath: path, contents: nil)
    defer { try? FileManager.default.removeItem(atPath: path) }
    let file = try #require(FileHandle(forWritingAtPath: path))
    let clock = Clock()
    let progress = Progress("working", unit: unit, on: Output(descriptor: file.fileDescriptor)) { clock.now }
    for step in steps {
      clock.advance(by: step.milliseconds)
      progress.update(step.done, of: step.total)
    }
    progress.finish(isDone: isDone)
    return try String(contentsOfFile: path, encoding: .utf8).replacing("\r\u{1B}[K", with: "|")
  }

  private final class Clock: Sendable {
    private let time = Mutex(ContinuousClock.now)
    var now: ContinuousClock.Instant { time.withLock { $0 } }
    func advance(by milliseconds: Int) { time.withLock { $0 += .milliseconds(milliseconds) } }
  }

  @Test func `what ends within half a second shows nothing`() throws {
    #expect(try shown([(100, 1, 10), (399, 9, 10), (0, 10, 10)], isDone: true) == "")
  }

  @Test func `percent, rate and the time left, and 100 % at the end alone`() throws {
    let mega = 1_000_000
    let steps = [(500, 1 * mega, 10 * mega), (50, 2 * mega, 10 * mega), (450, 4 * mega, 10 * mega)]
    let line = "|working 10 %, 2.0 MB/s, 5 s left|working 40 %, 4.0 MB/s, 2 s left"
    #expect(
      try shown(steps + [(1_000, 10 * mega, 10 * mega)]) == line
        + "|working 99 %, 5.0 MB/s, 0 s left|working 100 %\n")
    #expect(try shown(steps, isDone: true) == line + "|working 100 %\n")
    // What was given up.
    #expect(try shown(steps) == line + "|")
  }

  @Test func `other units have their names, and a total that nobody knows no time left`() throws {
    #expect(try shown([(2_000, 100, 100_000)], unit: "rows") == "|working 0 %, 50 rows/s, 33 min left|")
    #expect(try shown([(2_000, 100, 0)], unit: "records") == "|working 100 records, 50 records/s|")
    #expect(try shown([(2_000, 0, 100)], unit: "records").contains(" h left"))
    #expect(
      try shown([(2_000, 200, 100)], unit: "records")
        == "|working 99 %, 100 records/s, 0 s left|working 100 %\n")
  }
}
