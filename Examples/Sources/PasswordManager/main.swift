// PasswordManager: a line a command; what is secret is asked for without being shown.

import Foundation
import Notelog
import TerminalUI

let help = """
  unlock                           asks for the store's password
  register GROUP IDENTIFIER [PROTECTION]
                                   asks for a secret and keeps it
  check GROUP IDENTIFIER           asks for a secret: is it that? Without one: is there any?
  delete GROUP IDENTIFIER          forgets a secret
  count                            how many secrets there are; it needs no key
  opened                           how many sealed fields were opened so far
  lock                             wipes keys, and what was read
  purge                            wipes what was read
  export STORE                     makes another store of what may leave this device
  adopt                            forgets what stayed on another device, and begins anew here
  protections: \(KeyClass.allCases.map(\.rawValue).joined(separator: ", "))
  """

@MainActor
func run(_ words: [String], on manager: PasswordManager) throws -> String {
  let name = words.count >= 3 ? Name(group: words[1], identifier: words[2]) : nil
  switch (words[0], name) {
  case ("unlock", nil):
    try manager.store.unlock(.password(askForSecret("password: ")))
    return "unlocked"
  case ("register", let name?):
    guard let protection = words.count < 4 ? .whenUnlocked : KeyClass(rawValue: words[3]) else {
      return help
    }
    try manager.register(askForSecret("secret: "), as: name, protection)
    return "registered"
  case ("check", let name?):
    let secret = askForSecret("secret, or nothing: ")
    return try manager.check(secret.isEmpty ? nil : secret, of: name) ? "yes" : "no"
  case ("delete", let name?): return try manager.delete(name) ? "deleted" : "there is none"
  case ("count", nil):
    return try KeyClass.allCases.map { ($0.rawValue, try manager.count($0)) }.filter { $0.1 > 0 }
      .map { "\($0.0) \($0.1)" }.joined(separator: ", ")
  case ("opened", nil): return "\(manager.store.metrics.fieldsOpened)"
  case ("adopt", nil): return "\(try manager.adopt()) forgotten"
  case ("lock", nil): manager.lock()
  case ("purge", nil): manager.purge()
  case ("export", nil) where words.count == 2:
    return
      "\(try manager.export(to: words[1], password: askForSecret("password of the new store: "))) exported"
  default: return help
  }
  return "done"
}

let words = Arguments().words
guard words.count == 1 else { fail("usage: PasswordManager STORE") }
do {
  let manager = try PasswordManager.open(at: words[0]) { askForSecret("a password for the new store: ") }
  while let line = readLine(), line != "quit" {
    let words = line.split(separator: " ").map(String.init)
    do { if !words.isEmpty { print(try run(words, on: manager)) } } catch {
      print(error.localizedDescription)
    }
    fflush(nil)
  }
  try manager.store.close()
} catch {
  fail(error.localizedDescription)
}
