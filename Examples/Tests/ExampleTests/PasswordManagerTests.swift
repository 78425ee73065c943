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

      register mail ada afterFirstUnlock
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
    _ = try run(
      "pw\nregister a guarded\n1\nregister a background afterFirstUnlock\n2\nregister a public always\n3\n")
    let answers = try run(
      """
      count
      check a public
      3
      check a background
      2
      check a guarded
      1
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
      4
      unlock
      pw
      check a guarded
      1
      """)
    let locked = "It is locked."
    #expect(
      answers == [
        "whenUnlocked 1, afterFirstUnlock 1, always 1", "yes", locked, locked, "The password is not right.",
        "unlocked", "done", "yes", locked, locked, "unlocked", "yes",
      ])
  }

  @Test func `on another device what was bound to the first one stays closed, and the rest opens`() throws {
    var commands = "pw\n"
    for protection in KeyClass.allCases {
      commands += "register a \(protection.rawValue) \(protection.rawValue)\ns\n"
    }
    _ = try run(commands)
    let checks = "unlock\npw\n" + KeyClass.allCases.map { "check a \($0.rawValue)\ns\n" }.joined()
    #expect(try run(checks) == ["unlocked"] + KeyClass.allCases.map { _ in "yes" })
    // Another device has another secret, outside of the store.
    bench.device = "another"
    #expect(
      try run(checks)
        == ["unlocked"]
        + KeyClass.allCases.map { $0.isMigratable ? "yes" : "The key that it needs is missing." })
    // Those protections are begun anew there, without what they held.
    let again = try run(
      """
      unlock
      pw
      register a more whenUnlockedThisDeviceOnly
      t
      adopt
      register a more whenUnlockedThisDeviceOnly
      t
      purge
      check a more
      t
      check a always
      s
      check a alwaysThisDeviceOnly

      adopt
      """)
    #expect(
      again == [
        "unlocked", "The key that it needs is missing.", "3 forgotten", "registered", "done", "yes", "yes",
        "no", "0 forgotten",
      ])
  }

  @Test func `neither secrets nor what they are for is in the files`() throws {
    let words = ["mail.example.org", "ada.lovelace", "difference", "bank-of-turin", "menabrea", "analytical"]
    _ = try run(
      "pw\nregister \(words[0]) \(words[1])\n\(words[2])\nregister \(words[3]) \(words[4]) afterFirstUnlock\n\(words[5])\n"
    )
    let files = try bench.bytes(below: "my.secrets")
    for word in words {
      for file in files { #expect(file.bytes.range(of: Data(word.utf8)) == nil, "\(word) in \(file.name)") }
    }
    // The test could find a word: protections are in the clear.
    #expect(files.contains { $0.bytes.range(of: Data("afterFirstUnlock".utf8)) != nil })
  }

  @Test func `an export moves what is not bound to this store, under another password`() throws {
    let answers = try run(
      """
      pw
      register a moves
      1
      register a moves-too afterFirstUnlock
      2
      register a stays whenUnlockedThisDeviceOnly
      3
      register a stays-too alwaysThisDeviceOnly
      4
      export moved.secrets
      other
      """)
    #expect(answers.last == "2 exported")
    let moved = try run(
      "unlock\nother\ncheck a moves\n1\ncheck a moves-too\n2\ncheck a stays\n\ncheck a stays-too\n\ncount\n",
      on: "moved.secrets")
    #expect(moved == ["unlocked", "yes", "yes", "no", "no", "whenUnlocked 1, afterFirstUnlock 1"])
  }

  @MainActor
  @Test func `there is one instance for all who ask`() throws {
    let manager = try PasswordManager.open(
      at: bench.path("shared.secrets"), deviceSecret: .file(bench.path("device-secret"))
    ) { "pw" }
    let again = try PasswordManager.open(at: "elsewhere") { "" }
    #expect(again === manager)
    try manager.register("s", as: Name(group: "a", identifier: "b"), .alwaysThisDeviceOnly)
    #expect(try again.check("s", of: Name(group: "a", identifier: "b")))
  }

  @Test func `a secret is opened once, and again after a purge`() throws {
    _ = try run("pw\nregister a b\ns\n")
    let answers = try run(
      "unlock\npw\ncheck a b\ns\nopened\ncheck a b\n\nopened\npurge\ncheck a b\n\nopened\n")
    // Group, identifier and secret.
    #expect(answers == ["unlocked", "yes", "3", "yes", "3", "done", "yes", "6"])
  }
}
