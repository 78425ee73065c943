// `notelog password add STORE`, `password change STORE` and `password remove STORE [SLOT]`.
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

extension Command {
  static let passwordRemove: Command = Command(
    words: ["password", "remove"], summary: "take a password away",
    discussion: [
      """
      The password that is given no longer opens the store; with SLOT it opens the store, and the slot of that number, \
      as info lists it, goes. The last slot can't be removed. An old copy of the store still opens with the password.
      """
    ],
    positionals: [.store, Positional(name: "SLOT", isOptional: true, help: "the slot's number")],
    run: removePassword)
}

extension Option {
  fileprivate static let newPasswordFile = Option(
    long: "new-password-file", value: "FILE", completion: .file, help: "read the new password from FILE")
}

extension Invocation {
  /// The new password: from its file, or asked for twice.
  fileprivate func newPassword() throws(ToolError) -> Credential {
    try SecretSource(passwordFile: value(of: .newPasswordFile)).requireNew()
  }
}

@Sendable
private func addPassword(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.credential) { store in
    try store.addCredential(try invocation.newPassword(), work: try invocation.passwordWork(console) ?? 17)
    return .done
  }
}

@Sendable
private func changePassword(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.never) { store in
    let old = try SecretSource(invocation).require()
    try store.unlock(old)
    try store.changeCredential(
      old, to: try invocation.newPassword(), work: try invocation.passwordWork(console) ?? 17)
    return .done
  }
}

@Sendable
private func removePassword(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  let slot = invocation.positionals.dropFirst().first
  let number = slot.flatMap { UInt32($0) }
  if let slot, number == nil { throw .usage("'\(slot)' is no slot's number", hint: "info lists the slots") }
  try invocation.withStore(number == nil ? .never : .credential) { store in
    if let number {
      try store.removeSlot(number)
    } else {
      try store.removeCredential(try SecretSource(invocation).require())
    }
  }
  return .done
}
