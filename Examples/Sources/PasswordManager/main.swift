// passwords: secrets by identifier and group. The store's password is the first line of standard input, a secret the second.

import Foundation
import Notelog

let usage = """
  usage: PasswordManager FOLDER register GROUP IDENTIFIER [PROTECTION] [--device-only]
         PasswordManager FOLDER check | delete GROUP IDENTIFIER
         PasswordManager FOLDER export NEW-FOLDER

  The store's password is read from standard input, then a secret: without one, check says whether there is such an entry.
  """
func fail(_ words: String) -> Never {
  FileHandle.standardError.write(Data((words + "\n").utf8))
  exit(1)
}

var words = Array(CommandLine.arguments.dropFirst())
let isMigratable = !words.contains("--device-only")
words.removeAll { $0 == "--device-only" }
guard words.count >= 3, let password = readLine() else { fail(usage) }
do {
  let manager = try PasswordManager(at: words[0], password: password)
  switch (words[1], words.count) {
  case ("register", 4...5):
    let name = words.count == 5 ? words[4] : protections[0].name
    guard let protection = protections.first(where: { $0.name == name }), let secret = readLine() else {
      fail(usage)
    }
    try manager.register(secret, words[3], in: words[2], as: protection.type, isMigratable: isMigratable)
  case ("check", 4): print(try manager.check(readLine(), words[3], in: words[2]) ? "yes" : "no")
  case ("delete", 4): print(try manager.delete(words[3], in: words[2]) ? "deleted" : "there is none")
  case ("export", 3): print(try manager.export(to: words[2], password: password), "secrets exported")
  default: fail(usage)
  }
  try manager.close()
} catch {
  fail(error.localizedDescription)
}
