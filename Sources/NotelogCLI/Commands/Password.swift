// `notelog password add STORE`, `password change STORE` and `password remove STORE [SLOT]`.
import Notelog

extension Command {
  static let passwordAdd: Command = Command(
    words: ["password", "add"], summary: "add another password that opens the store",
    positionals: [.store], options: [.newPasswordFile, .scryptLogN], run: done(addPassword))

  static let passwordChange: Command = Command(
    words: ["password", "change"], summary: "replace the password that is given by another",
    discussion: """
      Only the password's slot is written anew, no record is. Who has forgotten the password has 'password add' make another one with the
      recovery key or a key file. An old copy of the store still opens with the old one.

      With --rekey there is a new unlock root too, and new keys: whoever knew the old password and had a copy of the keyring opens nothing that is
      written from then on. Other passwords, recovery keys and grants are gone then; 'notelog key rotate' seals anew what is there. All keys have to
      be there: where one stayed on another device, or its effaceable file is missing, nothing is changed.
      """,
    positionals: [.store], options: [.newPasswordFile, .scryptLogN, rekey, .yes], run: done(changePassword))

  fileprivate static let rekey = Option(
    long: "rekey", help: "make a new unlock root and new keys, which nobody knows who knew the old ones")

  static let passwordRemove: Command = Command(
    words: ["password", "remove"], summary: "take a password away",
    discussion: """
      The password that is given no longer opens the store; with SLOT it opens the store, and the slot of that number,
      as info lists it, goes. The last slot can't be removed, and the last password only after a yes. An old copy of the store still opens
      with the password.
      """,
    positionals: [.store, Positional(name: "SLOT", isOptional: true, help: "the slot's number")],
    options: [.yes], run: done(removePassword))
}

extension Option {
  static let newPasswordFile = Option(
    long: "new-password-file", value: "FILE", completion: .files, help: "read the new password from FILE")
}

extension Invocation {
  /// Whether a password opens the store, and neither a key nor a recovery key.
  fileprivate var givesPassword: Bool {
    get throws {
      let option = try SecretSource.option(of: self)
      return option != .keyFile && option != .recoveryFile
    }
  }

  /// The new password: from its file, or asked for twice.
  func newPassword() throws -> Credential {
    try value(of: .newPasswordFile).map { .passwordBytes(try SecretSource.password(in: $0)) }
      ?? SecretSource.askNew(.newPasswordFile)
  }
}

private func addPassword(_ call: Invocation) throws {
  let work = try call.passwordWork()
  try call.withStore(.credential, asking: { _ in try call.newPassword() }) { store, _, new in
    try store.addCredential(new, work: work)
  }
}

private func changePassword(_ call: Invocation) throws {
  let (work, isRekeying) = (try call.passwordWork(), call.has(Command.rekey))
  try call.checkPath()
  if !isRekeying, try !call.givesPassword {
    throw ToolError.usage(
      "what is given is no password, and only a password is changed",
      hint:
        "'notelog password add' makes another password with it, and 'notelog password remove \(call.store) SLOT' takes one away"
    )
  }
  try call.withStore(
    .credential,
    asking: { store in
      if isRekeying { try call.confirmNewRoot(of: store) }
      return try call.newPassword()
    }
  ) { store, old, new in
    guard let old else { return }
    if isRekeying {
      try makeNewRoot(of: store, old, to: new, work: work)
    } else {
      try store.changeCredential(old, to: new, work: work)
    }
  }
}

/// Makes a new unlock root, which takes all keys along.
private func makeNewRoot(of store: Store, _ old: Credential, to new: Credential, work: UInt8) throws {
  let gone = store.info().slots.count - 1
  do { try store.rekey(old, to: new, work: work) } catch {
    guard let error = error as? NotelogError, error.outcome == .done else { throw error }
    Console.say(
      "warning",
      "the new password is in force, and unlocking does what is left: \(ToolError(error).message)")
  }
  // An agent's root opens nothing any more.
  do { try RootKeeper.forget(store.id) } catch { Console.say("warning", ToolError(any: error).message) }
  if gone > 0 {
    Console.say("note", "\(counted(gone, "other way")) to open the store, or a part of it, went")
  }
  Console.say(
    "note", "what was written before is under keys that the old password leads to, until 'notelog key rotate'"
  )
}

extension Invocation {
  /// A new unlock root takes all keys along: whether they are there is said before anything is asked.
  fileprivate func confirmNewRoot(of store: Store) throws {
    if let key = store.info().keys.first(where: { $0.state == .elsewhere || $0.state == .missingFile }) {
      let name = key.name.map(Escaping.line) ?? "\(key.number)"
      let (reason, hint) =
        key.state == .missingFile
        ? (
          "the effaceable file of the key '\(name)' is missing",
          "put the file back into '\(self.store)', or have 'notelog key shred' give up the key and all that is sealed under it"
        )
        : (
          "the key '\(name)' stayed on another device",
          "change the password there; or remove here what is sealed under the key, and 'notelog key rotate \(self.store) \(name)'"
        )
      throw ToolError(
        .locked, "nothing is changed: \(reason), and a new root takes all keys along", hint: hint)
    }
    try confirm("make a new root, and leave only the new password in force?", of: store)
  }
}

private func removePassword(_ call: Invocation) throws {
  let slot = call.positionals.dropFirst().first
  let number = slot.flatMap { UInt32($0) }
  if let slot, number == nil {
    throw ToolError.usage("'\(slot)' is no slot's number", hint: "info lists the slots")
  }
  try call.withStore(
    .credential,
    asking: { store in
      let whole = store.info().slots.filter { $0.grant == nil }
      let passwords = whole.filter { $0.kind == "password" }
      let isPassword = try call.givesPassword
      // The last way in is refused, whatever is answered.
      guard let last = passwords.first, passwords.count == 1, whole.count > 1,
        number.map({ $0 == last.number }) ?? isPassword
      else { return }
      let others = whole.filter { $0.number != last.number }.map(\.words).joined(separator: "; ")
      Console.say("note", "it is the last password, and this is all that opens the store then: \(others)")
      if !call.has(.yes) { try Console.confirm("remove the last password?") }
    }
  ) { store, given, _ in
    if let number {
      try store.removeSlot(number)
    } else if let given {
      try store.removeCredential(given)
    }
  }
}
