// The vault by its functions, and by its program.

import Foundation
import Notelog
import Testing

@testable import Vault

@Suite struct VaultTests {
  private func vault(_ domains: String...) throws -> Vault {
    var options = Store.Options()
    options.passwordWork = 14
    let vault = try Vault(Store.inMemory(unlocking: .password("pw"), options: options))
    for domain in domains {
      try vault.save(Account(title: "At \(domain)", domain: domain, password: "first"))
    }
    return vault
  }

  @Test func `accounts are found by domain, and no others are opened`() throws {
    let vault = try vault("Example.org", "example.com", "other.example.org")
    let before = vault.store.metrics.fieldsOpened
    let found = try vault.accounts(at: "example.ORG")
    #expect(vault.store.metrics.fieldsOpened - before == 1)
    #expect(try found.map { try $0.title } == ["At Example.org"])
    #expect(try vault.accounts(titled: "at ex").count == 2)
    #expect(Card.expiry("never") == (0, 0))
  }

  @Test func `an account and what belongs to it come as one value, each time it changes`() async throws {
    let vault = try vault("example.org")
    var account = try vault.accounts(at: "example.org")[0].record()
    let id = account.id
    var pages = vault.pages(of: id).makeAsyncIterator()
    #expect(try await pages.next()??.formerPasswords == [])
    account.folder = try vault.folder(named: "Work")
    account.password = "second"
    try vault.save(account)
    var page = try await pages.next()?.flatMap { $0 }
    // The folder was made by a commit of its own.
    if page?.folder == nil { page = try await pages.next()?.flatMap { $0 } }
    #expect(page?.folder == "Work" && page?.formerPasswords == ["first"] && page?.isSent == false)
    try vault.markSent(vault.unsent())
    #expect(try await pages.next()??.isSent == true)
    vault.store.lock()
    try await vault.store.write { tx in try tx.touch(Account.self, id) }
    await #expect(throws: NotelogError(.locked, "")) { try await pages.next() }
    try vault.store.unlock(.password("pw"))
    try await vault.store.write { tx in try tx.delete(Account.self, id) }
    #expect(try await pages.next() == .some(nil))
  }

  @Test func `a folder takes all with it, locked or not, and the server is told`() throws {
    let vault = try vault("example.org")
    let folder = try vault.folder(named: "Work")
    var account = try vault.accounts(at: "example.org")[0].record()
    (account.folder, account.password) = (folder, "second")
    try vault.save(account)
    try vault.save(Card(folder: folder, title: "Bank"))
    try vault.save(Note(folder: folder, text: "words"))
    let seen = try vault.unsent()
    try vault.markSent(Array(seen.prefix(1)))
    vault.store.lock()
    #expect(throws: NotelogError(.locked, "")) { try vault.accounts(at: "example.org") }
    try vault.deleteFolder(folder)
    #expect(try vault.store.query(Account.self).count() == 0)
    #expect(try vault.store.query(FormerPassword.self).count() == 0)
    let gone = try vault.unsent()
    #expect(gone.count == 3 && gone.allSatisfy(\.isGone))
    // What was asked for before the deletion does not count as told.
    try vault.markSent(seen)
    #expect(try vault.unsent().count == 3)
    try vault.markSent(gone)
    #expect(try vault.unsent().isEmpty)
  }

  @Test func `the program keeps, finds, follows, tells and deletes accounts`() throws {
    let bench = try Bench()
    func run(_ words: String..., input: String = "pw\n") throws -> String {
      let answer = try bench.run("Vault", ["my.vault"] + words, input: input)
      #expect(answer.code == 0, "\(answer.out)")
      return answer.out
    }
    _ = try run("add", "Work", "Ma\u{1B}il", "example.org", "ada", input: "pw\nsecret-17\n")
    let line = try run("find", "EXAMPLE.org")
    #expect(line.hasSuffix("  Mail  ada\n"))
    #expect(try run("list", "IL") == line)
    let id = String(line.prefix(32))
    #expect(try run("count", input: "") == "1 accounts  1 folders\n")
    #expect(try run("sync").hasSuffix(" changed\n"))
    let watching = try PseudoTerminal("Vault", ["my.vault", "watch", id, "1"], in: bench.folder)
    try watching.expect("password:")
    watching.type("pw\r")
    try watching.expect("Mail  ada  Work  sent")
    _ = try run("change", id, input: "pw\nsecret-18\n")
    try watching.expect("Mail  ada  Work  to be sent\nbefore:  secret-17")
    #expect(watching.finish() == 0)
    _ = try run("drop", "Work")
    #expect(try run("sync").hasSuffix(" gone\n") && run("list") == "" && run("sync") == "")
    for file in try bench.bytes(below: "my.vault") {
      #expect(file.bytes.range(of: Data("secret".utf8)) == nil)
    }
  }
}
