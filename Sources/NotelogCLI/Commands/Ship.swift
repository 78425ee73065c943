// `notelog ship STORE DIR`: everything that is committed, seconds later, in a folder that can't open it.
import Foundation
import Notelog
import Synchronization

extension Command {
  static let ship: Command = Command(
    words: ["ship"], summary: "put all that is committed into an archive, again and again",
    discussion: """
      An archive is a folder of files that are written once, under names that say what they are: any tool may carry them on, to a bucket for
      instance. 'notelog restore' makes a store of any moment that was shipped, until 'notelog expired --delete' lets it go. No key is needed.

      It goes on until it is interrupted, and then finishes the round that it is at; interrupted once more, it ends at once, and the next one goes on where
      it was. Commits wake it, and a minute does. It prints a line for each round that put something; with --json also for each that failed.

      What --then names is run by /bin/sh after the first round and after each that put something. It has nothing to read, and what it prints goes to stderr. A
      round or command that fails is said at once, and tried again after pauses that grow to a minute. The exit code is that of the last round, 2 where its
      command failed. 'notelog info STORE --archive DIR' says how far behind an archive is. Where one was away for more than --hold keeps, moments are missed, and that is said.

      What does not check in the store is named, and exits 3: it takes the place of nothing. So does an archive that knows a later end of the store, or another
      history: then the store lost its end, is an older copy, or a copy of it is shipped there too. Nothing more is put.
      """,
    positionals: [.store, .folder("DIR", "the archive; made if it is missing")],
    options: [every, once, then, hold, .json],
    examples: [
      "notelog ship my.notelog /media/disk/notes": "for as long as it runs",
      "notelog ship my.notelog box --then 'rclone copy --immutable box remote:notes'": "and on into a bucket",
    ], run: shipStore)

  fileprivate static let every = Option(
    long: "every", value: "TIME", help: "begin one round in TIME at most, like 1s or 15m; 5s unless given")
  fileprivate static let once = Option(long: "once", help: "end after one round")
  fileprivate static let then = Option(long: "then", value: "COMMAND", help: "what carries on what was put")
  fileprivate static let hold = Option(
    long: "hold", value: "SIZE",
    help: "keep so much of what is replaced while the archive is away, 64M for instance; 1G unless given")
}

private func shipStore(_ call: Invocation) throws -> ExitCode {
  try call.checkPath()
  let every = TimeInterval(try call.seconds(of: Command.every) ?? 5)
  let held = try call.byteCount(of: Command.hold) ?? 1 << 30
  let archive = FolderArchive(path: call.positionals[1])
  // Who has them is at one, or ends the tool.
  let rounds = Mutex(Rounds(call: call, shipper: try Shipper(of: call.store, to: archive, holding: held)))
  if call.has(Command.once) { return try rounds.withLock { try $0.run(onlyOnce: true) } }
  try Interrupt.beforeEnding { _ in
    Interrupt.endAtOnce()
    rounds.withLock { exit($0.code.rawValue) }
  }
  let commits = commits(to: call.store)
  var pause = every
  while true {
    let next = Date.now + pause
    while commits.wait(timeout: .now()) == .success {}
    let isDone = try rounds.withLock { try $0.next() }
    pause = isDone ? every : min(max(every, 60), pause * 2)
    Thread.sleep(until: next)
    if isDone { _ = commits.wait(timeout: .now() + 60) }
  }
}

/// Signals each commit to a store, while that can be opened.
private func commits(to path: String) -> DispatchSemaphore {
  let heard = DispatchSemaphore(value: 0)
  Task.detached {
    var options = Store.Options()
    (options.isReadOnly, options.acceptsUnprovenDamage) = (true, true)
    while true {
      if let store = try? await Store.open(at: path, options: options) {
        let changes = store.changes()
        // One that came before is in no change.
        heard.signal()
        for await _ in changes { heard.signal() }
        try? await store.close()
      }
      try await Task.sleep(for: .seconds(10))
    }
  }
  return heard
}

/// Round after round, and what is done after each.
private struct Rounds {
  let call: Invocation
  let shipper: Shipper
  /// What the last one ended with.
  var code = ExitCode.done
  var hasShipped = false
  /// Whether the command has still to run. Nobody knows what another process did not come to.
  var isCommandDue = true
  /// What was said of the last round.
  var said: Set<String> = []

  /// Ships, says what was put, and has the command carry it on.
  ///
  /// - Parameter onlyOnce: Whether Ctrl-C ends the round in order; else it is heard between rounds.
  /// - Returns: Whether what was read checks.
  /// - Throws: Why nothing was put, or not carried on.
  mutating func run(onlyOnce: Bool = false) throws -> ExitCode {
    let done = try withProgress(
      "shipping", saying: [.notFound: call.noStore], into: call.positionals[1], onlyReading: !onlyOnce
    ) { try shipper.ship(progress: $0) }
    let words = done.findings.map(\.words)
    if done.revision == 0, let reason = words.first { throw ToolError(.damage, reason) }
    hasShipped = true
    if done.hasGap {
      Console.say("warning", "--hold kept too little: moments since the last round may be missing")
    }
    if done.putObjects > 0 {
      isCommandDue = true
      let put = "\(counted(done.putObjects, "object")), \(done.byteCount) bytes"
      try call.print("shipped revision \(done.revision), \(put)", or: done.json(done.findings))
      try Console.out.flush()
    }
    for word in words where !said.contains(word) { Console.say("error", word) }
    said = Set(words)
    if isCommandDue, let command = call.value(of: Command.then) {
      let code = try Program.run(["/bin/sh", "-c", command])
      guard code == 0 else { throw ToolError(.failed, "the command of --then failed with exit code \(code)") }
    }
    isCommandDue = false
    return words.isEmpty ? .done : .damage
  }

  /// Runs one, and says why it failed.
  ///
  /// - Returns: Whether it did not.
  /// - Throws: What does not pass: a mistake from the beginning on, and a reader that went away.
  mutating func next() throws -> Bool {
    do {
      code = try run()
      return true
    } catch let thrown {
      let error = ToolError(any: thrown)
      let isMistake = error.code == .noStore || (thrown as? NotelogError)?.code == .alreadyExists
      if error == .closedPipe || isMistake && !hasShipped { throw thrown }
      try call.print([], or: ["error": error.message, "exitCode": Int(error.code.rawValue)])
      code = NotelogTool.report(error)
      return false
    }
  }
}

extension ShippingSummary {
  /// What a round did, for programs; and what was found in all.
  func json(_ findings: [Finding]) -> JSONValue {
    [
      "revision": revision, "objectsPut": putObjects, "segmentsKept": keptSegments,
      "objectsMended": mendedObjects, "bytesPut": byteCount, "gap": hasGap, "findings": findings,
    ]
  }
}
