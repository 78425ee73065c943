// An app that leases its store: the demo and tests run it beside the tool.
//
// Usage: LeasingApp FOLDER PASSWORD-FILE. It writes a note, keeps the store's lock until somebody else wants
// to write, and prints the titles of the notes that come, until its input ends.

import Foundation
import Notelog

struct Note: Record {
  var id = RecordID(), time = Date(), title = "", body = ""
  static let schema = Schema<Note>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body)
  }
}

@Sendable func say(_ text: String) { FileHandle.standardOutput.write(Data("app: \(text)\n".utf8)) }

let password = try String(contentsOfFile: CommandLine.arguments[2], encoding: .utf8).split(separator: "\n")[0]
var options = Store.Options()
options.writing = .leased(idle: .seconds(60))
options.lockTimeout = .seconds(600)
let store = try Store.open(
  at: CommandLine.arguments[1], unlocking: .password(String(password)), options: options)

let changes = store.changes(of: Note.self)
Task.detached {
  for await change in changes {
    do {
      for id in change.written {
        let title = try store.get(Note.self, id)?.title ?? ""
        say("there is a note '\(title)'")
      }
    } catch { say("\(error)") }
  }
}
try store.write { tx in try tx.put(Note(title: "From the app")) }
_ = try FileHandle.standardInput.readToEnd()
try store.close()
