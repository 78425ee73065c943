// PasswordManager by its commands, and what is left of it in the files.

import Foundation
import Notelog
import Testing

@testable import PasswordManager

@Suite struct PasswordManagerTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  /// Gives commands to a store; the first time, a password comes before them.
  private func run(_ commands: String, on store: String = "my.secrets") throws -> [String] {
    let answer = try bench.run("PasswordManager", [store], input: commands)
    #expect(answer.code == 0, "\(answer.out)")
    return answer.out.split(separator: "\n").map(String.init)
  }

  @Test func `secrets are registered, checked and deleted by group and identifier`() throws {
    let answers = try run(
      """
      pw
      register mail ada
      difference
      check mail ada
      difference
      check mail ada
      engine
      check mail ada

      check bank ada

      register mail ada after-first-unlock
      engine
      check mail ada
      engine
      delete mail ada
      delete mail ada
      check mail ada

      """)
    #expect(
      answers == [
        "registered", "yes", "no", "yes", "no", "registered", "yes", "deleted", "there is none", "no",
      ])
  }

  @Test func `each secret is there as long as its protection says`() throws {
    _ = try run("pw\nregister a guarded\n1\nregister a background after-first-unlock\n2\n")
    let answers = try run(
      """
      count
      check a background
      2
      unlock
      wrong
      unlock
      pw
      lock
      check a background
      2
      check a guarded
      1
      register a another
      3
      count
      unlock
      pw
      check a guarded
      1
      """)
    let locked = "It is locked."
    #expect(
      answers == [
        "when-unlocked 1, after-first-unlock 1, always 0", locked, "The password is not right.", "unlocked",
        "done",
        "yes",
        locked, locked, "when-unlocked 1, after-first-unlock 1, always 0", "unlocked", "yes",
      ])
  }

  @Test func `neither secrets nor what they are for is in the files`() throws {
    let words = ["mail.example.org", "ada.lovelace", "difference", "bank-of-turin", "menabrea", "analytical"]
    _ = try run(
      "pw\nregister \(words[0]) \(words[1])\n\(words[2])\nregister \(words[3]) \(words[4]) after-first-unlock\n\(words[5])\n"
    )
    let files = try bench.bytes(below: "my.secrets")
    for word in words {
      for file in files { #expect(file.bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(file.name)") }
    }
    // The test could find a word: protections are in the clear.
    #expect(files.contains { $0.bytes.range(of: Data("after-first-unlock".utf8)) != nil })
  }

  @Test func `an export moves what is not bound to this store, under another password`() throws {
    let answers = try run(
      """
      pw
      register a moves
      1
      register a moves-too after-first-unlock
      2
      register a stays device-only
      3
      export moved.secrets
      other
      """)
    #expect(answers.last == "2 exported")
    let moved = try run(
      "unlock\nother\ncheck a moves\n1\ncheck a moves-too\n2\ncheck a stays\n\ncount\n", on: "moved.secrets")
    #expect(moved == ["unlocked", "yes", "yes", "no", "when-unlocked 1, after-first-unlock 1, always 0"])
  }

  @MainActor
  @Test func `the shared instance opens a secret once, and again after a purge`() throws {
    let manager = try PasswordManager.open(at: bench.path("shared.secrets")) { "pw" }
    let again = try PasswordManager.open(at: "elsewhere") { "" }
    #expect(again === manager)
    try manager.register("s", as: Name(group: "a", identifier: "b"), WhenUnlocked.self, isMigratable: true)
    manager.purge()
    let metrics = manager.store.metrics
    let name = Name(group: "a", identifier: "b")
    let before = metrics.fieldsOpened
    #expect(try manager.check("s", of: name))
    #expect(try manager.check(of: name))
    let once = metrics.fieldsOpened - before
    #expect(once == 3)
    manager.purge()
    #expect(try manager.check(of: name))
    #expect(metrics.fieldsOpened - before == 2 * once)
  }
}
