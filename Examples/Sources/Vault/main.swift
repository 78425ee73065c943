// Vault: accounts that are kept, found by domain and followed. Each command asks for the password.

import Foundation
import Notelog
import TerminalUI

let usage = """
  usage: Vault STORE COMMAND
    add FOLDER TITLE DOMAIN USER   asks for a password and keeps an account
    find DOMAIN                    the accounts of a domain
    list [TEXT]                    all accounts, or those with a text in their titles
    change ID                      asks for an account's new password
    watch ID [COUNT]               an account and what belongs to it, then each change, until so many have come
    drop FOLDER                    deletes a folder and all that is in it
    sync                           what the server has to be told; then it counts as told
    count                          how much there is; it needs no password
  """

/// Prints a line without what a terminal would obey.
func show(_ words: [String]) {
  let line = words.joined(separator: "  ")
  print(line.filter { !$0.unicodeScalars.contains { $0.properties.generalCategory == .control } })
  fflush(nil)
}

func show(_ accounts: [Entry<Account>]) throws {
  for account in accounts { show(["\(account.id)", try account.title, try account.userName]) }
}

func run(_ words: [String], on vault: Vault) async throws {
  switch (words[0], words.count) {
  case ("add", 5):
    let folder = try vault.folder(named: words[1])
    var account = Account(
      created: Date(), folder: folder, title: words[2], domain: words[3], userName: words[4])
    account.password = askForSecret("the account's password: ")
    try vault.save(account)
  case ("find", 2): try show(vault.accounts(at: words[1]))
  case ("list", 1...2): try show(vault.accounts(titled: words.count == 2 ? words[1] : ""))
  case ("change", 2):
    guard let id = RecordID(words[1]), var account = try vault.store.get(Account.self, id)?.record() else {
      fail("There is no such account.")
    }
    account.password = askForSecret("the new password: ")
    try vault.save(account)
  case ("watch", 2...3):
    guard let id = RecordID(words[1]) else { fail(usage) }
    var left = words.count == 3 ? Int(words[2]) ?? 0 : .max
    for try await page in vault.pages(of: id) {
      guard let page else { break }
      show([page.title, page.userName, page.folder ?? "-", page.isSent ? "sent" : "to be sent"])
      for password in page.formerPasswords { show(["before:", password]) }
      if left == 0 { break }
      left -= 1
    }
  case ("drop", 2): try vault.deleteFolder(vault.folder(named: words[1]))
  case ("sync", 1):
    let states = try vault.unsent()
    for state in states { show(["\(state.id)", state.isGone ? "gone" : "changed"]) }
    try vault.markSent(states)
  default: fail(usage)
  }
  try await vault.store.close()
}

let words = Arguments().words
guard words.count > 1 else { fail(usage) }
do {
  if words[1] == "count" {
    let store = try Store.open(at: words[0])
    show([
      "\(try store.query(Account.self).count()) accounts", "\(try store.query(Folder.self).count()) folders",
    ])
  } else {
    try await run(
      Array(words.dropFirst()), on: Vault(at: words[0], password: askForSecret("password: ")))
  }
} catch {
  fail(error.localizedDescription)
}
