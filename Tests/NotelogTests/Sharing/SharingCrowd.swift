// Processes that share a store: starting them, disturbing them, and judging what they wrote down.

#if os(Linux)
  import Foundation

  @testable import Notelog

  /// Eight processes `SharingChild` on one store.
  final class SharingCrowd {
    static let key = Credential.key([UInt8](repeating: 7, count: 32))
    private static let slotCount = 8

    let folder: TemporaryFolder
    private let notes: TemporaryFolder
    private let isDisturbed: Bool
    private var chance = SystemRandomNumberGenerator()
    private var runs: [Run] = []
    /// Told of each process that ends.
    private let ended = DispatchSemaphore(value: 0)
    private var killCount = 0
    private var stopCount = 0

    /// What was found that must not be.
    private(set) var mistakes: [String] = []
    private(set) var acknowledgedCount = 0
    /// The numbers that a pair may have at the end: what was acknowledged last, and what was tried after
    /// that.
    private(set) var expected: [Int: Set<Int>] = [:]
    /// How long after a commit the others heard of it, in microseconds.
    private var delays: [Int] = []

    init(isDisturbed: Bool) throws {
      self.isDisturbed = isDisturbed
      (folder, notes) = (try TemporaryFolder(), try TemporaryFolder())
      try FileManager.default.createDirectory(atPath: notes.path, withIntermediateDirectories: true)
      try Store.create(at: folder.path, unlocking: Self.key).close()
    }

    static func id(_ pair: Int, _ which: Int) -> RecordID {
      RecordID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, UInt8(pair), UInt8(which))))
    }

    /// Has the processes work for so long, ends them, and reads what they wrote.
    func run(seconds: Double) throws {
      for slot in 0..<Self.slotCount { try begin(slot) }
      let end = Date(timeIntervalSinceNow: seconds)
      while Date() < end {
        _ = ended.wait(timeout: .now() + .random(in: 0..<0.1, using: &chance))
        for run in runs where run.isActive && !run.process.isRunning {
          mistakes.append("slot \(run.slot) ended by itself: \(run.process.terminationStatus)")
          run.isActive = false
          try begin(run.slot)
        }
        if isDisturbed { try disturb() }
      }
      for run in runs where run.isActive {
        run.resume()
        try run.say("end")
      }
      let last = try writeLast()
      for run in runs where run.isActive {
        try run.say("\(last)")
        try run.input.close()
      }
      for run in runs where run.isActive {
        run.process.waitUntilExit()
        if run.process.terminationStatus != 0 { mistakes.append("slot \(run.slot) failed at its end") }
      }
      judge(upTo: last)
    }

    /// A commit that each process is to hear of before it ends: its revision.
    private func writeLast() throws -> UInt64 {
      var options = Store.Options()
      options.lockTimeout = .seconds(600)
      let store = try Store.open(at: folder.path, unlocking: Self.key, options: options)
      defer { try? store.close() }
      return try store.putAll([Half(id: Self.id(Self.slotCount * Self.slotCount, 0))])
    }

    private func begin(_ slot: Int) throws {
      let run = try Run(
        ended, slot, runs.count, folder.path, URL(filePath: notes.path).appending(path: "\(runs.count)"))
      runs.append(run)
    }

    /// Kills, stops or continues one of them.
    private func disturb() throws {
      guard let run = runs.filter(\.isActive).randomElement(using: &chance) else { return }
      if run.isStopped { return run.resume() }
      if Int.random(in: 0..<3, using: &chance) > 0 {
        stopCount += 1
        return run.stop()
      }
      killCount += 1
      run.kill()
      try begin(run.slot)
    }

    // MARK: Judging

    private func judge(upTo last: UInt64) {
      var acknowledged: [(revision: UInt64, time: Int, run: Int)] = []
      let lines = runs.map { $0.lines() }
      for (number, lines) in lines.enumerated() {
        for line in lines {
          let words = line.words
          switch words[0] {
          case "try": expected[line.number(1), default: [0]].insert(max(line.number(2), 0))
          case "ack":
            acknowledgedCount += 1
            expected[line.number(1)] = [max(line.number(2), 0)]
            if let revision = UInt64(words[3]), revision > 0 {
              acknowledged.append((revision, line.number(4), number))
            }
          case "torn", "behind", "failed":
            mistakes.append("process \(number): \(line.words.joined(separator: " "))")
          default: break
          }
        }
      }
      acknowledged.sort { $0.revision < $1.revision }
      for (number, lines) in lines.enumerated() {
        judgeHearing(of: number, lines, acknowledged, upTo: last)
      }
    }

    /// Whether a process heard of each commit while it lived, once and in order: those up to `last` where it
    /// lived to the end.
    private func judgeHearing(
      of number: Int, _ lines: [Line], _ acknowledged: [(revision: UInt64, time: Int, run: Int)],
      upTo last: UInt64
    ) {
      guard let open = lines.first(where: { $0.words[0] == "open" }) else { return }
      var next = open.revision(1)
      var heard: [(range: ClosedRange<UInt64>, time: Int)] = []
      for line in lines where line.words[0] == "heard" {
        let range = line.revision(1)...line.revision(2)
        if range.lowerBound < next && !heard.isEmpty {
          mistakes.append("process \(number) heard of \(range) behind \(next - 1)")
        }
        next = range.upperBound + 1
        heard.append((range, line.time))
      }
      let isClosed = lines.last?.words[0] == "closed"
      let end = heard.last?.range.upperBound ?? 0
      if isClosed, open.revision(1) <= last, end < last {
        mistakes.append("process \(number) never heard of revision \(last), the last")
      }
      var position = 0
      for commit in acknowledged where commit.revision >= open.revision(1) && commit.revision <= end {
        while position < heard.count, heard[position].range.upperBound < commit.revision { position += 1 }
        guard position < heard.count, heard[position].range.contains(commit.revision) else {
          mistakes.append("process \(number) never heard of revision \(commit.revision)")
          continue
        }
        if commit.run != number { delays.append(max(0, heard[position].time - commit.time)) }
      }
    }

    /// The figures in one line.
    func report() -> String {
      delays.sort()
      let at = { (share: Double) in
        Double(self.delays.isEmpty ? 0 : self.delays[Int(Double(self.delays.count - 1) * share)]) / 1000
      }
      return "\(runs.count) processes, \(killCount) kills, \(stopCount) stops, \(acknowledgedCount) commits, "
        + "\(delays.count) times heard: median \(at(0.5)) ms, p99 \(at(0.99)) ms, \(mistakes.count) mistakes"
    }
  }

  /// One process, from its start to its end.
  private final class Run {
    let slot: Int
    let process = Process()
    let input: FileHandle
    private let notes: URL
    var isActive = true
    private(set) var isStopped = false

    init(_ ended: DispatchSemaphore, _ slot: Int, _ number: Int, _ store: String, _ notes: URL) throws {
      (self.slot, self.notes) = (slot, notes)
      let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      process.executableURL = URL(filePath: path).deletingLastPathComponent().appending(path: "SharingChild")
      process.arguments = [store, "\(slot)", "\(UInt64.random(in: 0 ... .max))", "\(number * 1_000_000)"]
      _ = FileManager.default.createFile(atPath: notes.path, contents: nil)
      process.standardOutput = try FileHandle(forWritingTo: notes)
      let pipe = Pipe()
      process.standardInput = pipe
      input = pipe.fileHandleForWriting
      process.terminationHandler = { _ in ended.signal() }
      try process.run()
    }

    func stop() {
      isStopped = true
      send(SIGSTOP)
    }

    func resume() {
      if isStopped { send(SIGCONT) }
      isStopped = false
    }

    func say(_ line: String) throws { try input.write(contentsOf: Data("\(line)\n".utf8)) }

    func kill() {
      isActive = false
      send(SIGKILL)
      process.waitUntilExit()
      try? input.close()
    }

    private func send(_ signal: Int32) { Foundation.kill(process.processIdentifier, signal) }

    func lines() -> [Line] {
      let text = (try? String(contentsOf: notes, encoding: .utf8)) ?? ""
      // The last one may have been cut off by a kill.
      return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap(Line.init)
    }
  }

  /// A line that a process wrote.
  private struct Line {
    let time: Int
    let words: [String]

    init?(_ text: Substring) {
      let words = text.split(separator: " ").map(String.init)
      guard words.count > 1, let time = Int(words[0]) else { return nil }
      (self.time, self.words) = (time, Array(words.dropFirst()))
    }

    func number(_ place: Int) -> Int { Int(words[place]) ?? 0 }

    func revision(_ place: Int) -> UInt64 { UInt64(words[place]) ?? 0 }
  }
#endif
