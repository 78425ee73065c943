// SecureNote: a password screen, a list that is searched while one types, and notes. Usage: SecureNote FOLDER [--idle SECONDS] [--fill N]

import Foundation
import TerminalUI

func fail(_ words: String) -> Never {
  FileHandle.standardError.write(Data("SecureNote: \(words)\n".utf8))
  exit(1)
}

var arguments = Array(CommandLine.arguments.dropFirst())
@MainActor func option(_ name: String) -> String? {
  guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else { return nil }
  defer { arguments.removeSubrange(index...index + 1) }
  return arguments[index + 1]
}
let idle = option("--idle").flatMap(Double.init) ?? 120
let fill = option("--fill").flatMap(Int.init)
guard arguments.count == 1, let path = arguments.first else {
  fail("usage: SecureNote FOLDER [--idle SECONDS] [--fill N]")
}
do {
  if let fill {
    // For trying: the password is the first line of standard input.
    let password = readLine() ?? ""
    let notebook = try Notebook(creatingAt: path, password: password)
    try notebook.fill(fill)
    try notebook.store.close()
  } else {
    guard let terminal = Terminal() else { fail("it needs a terminal") }
    defer { terminal.close() }
    var app = try App(path: path, idleSeconds: idle, on: terminal)
    try app.run()
  }
} catch {
  fail(error.localizedDescription)
}
