// SecureNote: notes on a terminal, sealed by a password.

import Foundation
import Notelog
import TerminalUI

let usage = """
  usage: SecureNote STORE [--idle SECONDS] [--fill COUNT]
    --idle SECONDS  locks when nothing was typed for so long (120)
    --fill COUNT    makes a store of so many notes, with a password from standard input, and ends
  """

var arguments = Arguments()
let idle = arguments.take("--idle").map { Double($0) ?? -1 } ?? 120
let fill = arguments.take("--fill").map { Int($0) ?? -1 }
guard arguments.words.count == 1, idle > 0, fill ?? 0 >= 0 else { fail(usage) }

do {
  let path = arguments.words[0]
  if let fill {
    let notebook = try Notebook(creatingAt: path, password: askForSecret("a password: "))
    try notebook.fill(fill)
    try notebook.store.close()
  } else {
    guard let terminal = Terminal() else { fail("SecureNote needs a terminal.") }
    defer { terminal.close() }
    var app = try App(path: path, idle: .seconds(idle), on: terminal)
    try app.run()
  }
} catch {
  fail(error.localizedDescription)
}
