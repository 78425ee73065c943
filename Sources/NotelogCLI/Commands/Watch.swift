// `notelog watch STORE`: what is committed, as it comes.
import Foundation
import Notelog
import Synchronization

extension Command {
  static let watch: Command = Command(
    words: ["watch"], summary: "print which records are written and deleted, as it happens",
    discussion: """
      It needs no key, takes no lock, and runs until it is interrupted, or has printed so many commits as --commits says. A line that
      says 'more' stands for commits that went by too fast to be named one by one.
      """,
    positionals: [.store], options: [commits, .json],
    examples: ["notelog watch my.notelog --json | jq .written": "for a script that follows"],
    run: done(watchStore))

  fileprivate static let commits = Option(long: "commits", value: "COUNT", help: "end after so many commits")
}

private func watchStore(_ call: Invocation) throws {
  let limit = try call.number(of: Command.commits, in: 1...Int.max) ?? .max
  try call.withStore(.ifGiven, readOnly: true) { store in
    let changes = store.changes()
    // Whoever reads this knows that nothing is missed from here on.
    Console.say("watch", "following '\(call.store)' from revision \(store.info().nextRevision) on")
    let failure = Mutex<(any Error)?>(nil)
    let end = DispatchSemaphore(value: 0)
    Task.detached {
      defer { end.signal() }
      var count = 0
      for await change in changes {
        do {
          try call.print(change.lines, or: change.json)
          try Console.out.flush()
        } catch { return failure.withLock { $0 = error } }
        count += 1
        if count == limit { return }
      }
    }
    end.wait()
    if let error = failure.withLock({ $0 }) { throw error }
    // Where it has ended by itself, this says why.
    _ = try store.refresh()
  }
}

extension RecordChanges {
  /// A line for each record.
  fileprivate var lines: [String] {
    let revision =
      revisions.count == 1 ? "\(revisions.lowerBound)" : "\(revisions.lowerBound)-\(revisions.upperBound)"
    var lines = written.map(\.shown).sorted().map { "\(revision)  written  \($0)" }
    lines += deleted.map(\.shown).sorted().map { "\(revision)  deleted  \($0)" }
    if !isComplete { lines.append("\(revision)  more") }
    return lines
  }

  fileprivate var json: JSONValue {
    [
      "firstRevision": revisions.lowerBound.json, "lastRevision": revisions.upperBound.json,
      "written": written.map(\.shown).sorted().json, "deleted": deleted.map(\.shown).sorted().json,
      "complete": isComplete.json,
    ]
  }
}
