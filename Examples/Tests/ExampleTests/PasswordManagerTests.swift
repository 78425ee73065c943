// PasswordManager, by its commands.

import Foundation
import Testing

@Suite struct PasswordManagerTests {
  private let folder: Folder
  private var store: String { folder.path + "/passwords.notelog" }

  init() throws { folder = try Folder() }

  private func run(
    _ words: String..., secret: String? = nil, password: String = "pw", in store: String? = nil
  ) throws -> String {
    let input = password + "\n" + (secret.map { $0 + "\n" } ?? "")
    let answer = try Program.run("PasswordManager", [store ?? self.store] + words, input: input)
    return answer.code == 0 ? answer.out.trimmingCharacters(in: .newlines) : "failed: " + answer.error
  }

  @Test func `register, check and delete by identifier and group`() throws {
    #expect(try run("register", "mail", "ada", secret: "s3cret") == "")
    #expect(try run("check", "mail", "ada") == "yes")
    #expect(try run("check", "mail", "ada", secret: "s3cret") == "yes")
    #expect(try run("check", "mail", "ada", secret: "other") == "no")
    #expect(try run("check", "bank", "ada") == "no")
    // Registered again, under another protection, it is that and no other.
    #expect(try run("register", "mail", "ada", "after-first-unlock", secret: "n3w") == "")
    #expect(try run("check", "mail", "ada", secret: "s3cret") == "no")
    #expect(try run("check", "mail", "ada", secret: "n3w") == "yes")
    #expect(try run("delete", "mail", "ada") == "deleted")
    #expect(try run("delete", "mail", "ada") == "there is none")
    #expect(try run("check", "mail", "ada") == "no")
    #expect(try run("check", "mail", "ada", password: "wrong").contains("The password is not right."))
  }

  @Test func `neither secrets nor what they are for are in the files`() throws {
    _ = try run("register", "mail-server", "ada-lovelace", secret: "difference-engine")
    _ = try run("register", "bank-of-turin", "charles", "after-first-unlock", secret: "analytical")
    let bytes = try folder.bytes()
    for word in [
      "mail-server", "ada-lovelace", "difference-engine", "bank-of-turin", "charles", "analytical",
    ] {
      #expect(bytes.range(of: Data(word.utf8)) == nil, "\(word)")
    }
    #expect(bytes.range(of: Data("when-unlocked".utf8)) != nil)
  }

  @Test func `only what may move is exported`() throws {
    _ = try run("register", "a", "moves", secret: "1")
    _ = try run("register", "a", "moves-too", "after-first-unlock", secret: "2")
    _ = try run("register", "a", "stays", "--device-only", secret: "3")
    let target = folder.path + "/exported.notelog"
    #expect(try run("export", target) == "2 secrets exported")
    #expect(try run("check", "a", "moves", secret: "1", in: target) == "yes")
    #expect(try run("check", "a", "moves-too", secret: "2", in: target) == "yes")
    #expect(try run("check", "a", "stays", in: target) == "no")
  }
}
