// `notelog password add STORE` and `password change STORE`.
import Notelog

extension Command {
  static let passwordAdd: Command = Command(
    words: ["password", "add"], summary: "add another password that opens the store",
    positionals: [.store], options: [.newPasswordFile, .scryptLogN], run: addPassword)

  static let passwordChange: Command = Command(
    words: ["password", "change"], summary: "replace the password that is given by another",
    discussion: [
      "Only the password's slot is written anew, no record is. An old copy of the store still opens with the old one."
    ],
    positionals: [.store], options: [.newPasswordFile, .scryptLogN], run: changePassword)
}

extension Option {
  fileprivate static let newPasswordFile = Option(
    long: "new-password-file", value: "FILE", completion: .file, help: "read the new password from FILE")
}

extension Invocation {
  /// The new password: from its file, or asked for twice.
  fileprivate func newPassword() throws(ToolError) -> Credential {
    var source = SecretSource(self)
    source.keyFile = nil
    source.passwordFile = value(of: .newPasswordFile)
    return try source.requireNew()
  }
}

@Sendable
private func addPassword(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.required) { store in
    try store.addCredential(try invocation.newPassword(), work: try invocation.passwordWork(console) ?? 17)
    return .done
  }
}

@Sendable
private func changePassword(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.ifGiven) { store in
    let old = try SecretSource(invocation).require()
    try store.unlock(old)
    try store.changeCredential(
      old, to: try invocation.newPassword(), work: try invocation.passwordWork(console) ?? 17)
    return .done
  }
}
