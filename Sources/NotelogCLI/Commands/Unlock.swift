// `notelog unlock STORE`, `notelog lock [STORE]` and `notelog agent lock [STORE]`: a store kept open between
// commands.
import Notelog

extension Command {
  static let unlock: Command = Command(
    words: ["unlock"], summary: "keep a store unlocked for a while, for the commands that follow",
    discussion: """
      The password opens the store once. What opens all its keys, the unlock root, is then kept for some time, and every command
      that would ask for the password takes it from there. The password itself is not kept. Commands that change what opens the store ask all the same.

      It is kept by an agent, a process that is started where none is running (see 'notelog help agent'), or with --keep kernel in the
      keyring that the Linux kernel has for the user. It is forgotten when its time is over, and by 'notelog lock'. After 'password change'
      it still opens the store.

      \(agentWarning)
      """,
    positionals: [.store], options: [keepFor, keeper],
    examples: [
      "notelog unlock my.notelog --for 1h": "asks for the password, and for an hour no other command does"
    ],
    run: done(unlockStore))

  static let lock: Command = Command(
    words: ["lock"], summary: "forget what was kept of a store, or of all stores",
    discussion:
      "The agent wipes it from its memory, and the kernel from its keyring. A command that is running keeps what it has.",
    positionals: [optionalStore], run: done(lockStores))

  static let agentLock: Command = Command(
    words: ["agent", "lock"], summary: "the same as lock", positionals: [optionalStore], run: done(lockStores)
  )

  static let optionalStore = Positional.folder(
    "STORE", "the store's folder; all stores unless given", isOptional: true)

  static let agentWarning =
    "Any program that runs as the same user can ask for what is kept, as it could read the memory of any other program of the user. For as "
    + "long as a store is unlocked, nothing here protects it from such a program."

  static let keepFor = Option(
    long: "for", value: "TIME", help: "keep it for TIME: 90s, 15m or 2h, up to 24h; 15m unless given")
  fileprivate static let keeper = Option(
    long: "keep", value: "WHERE", completion: RootKeeper.allCases.map(\.rawValue),
    help: "agent: in the agent's memory, which is the default; kernel: in the kernel's keyring")

  /// The most seconds that `--for` takes.
  static let keepSecondsMax: UInt32 = 86_400
}

private func unlockStore(_ call: Invocation) throws {
  let seconds = try call.seconds(of: Command.keepFor, upTo: Command.keepSecondsMax) ?? 900
  let keeper = try call.choice(of: Command.keeper, among: RootKeeper.self) ?? .agent
  // What stands in the way is said before a password is asked for.
  if keeper == .agent { _ = try AgentServer.requiredFolderPath() }
  try call.withStore(.credential, readOnly: true) { store in
    let root = try saying([.locked: partly]) { try store.unlockRoot() }
    try keeper.keep(root, of: store.id, seconds: seconds)
  }
  try Console.out.write("unlocked for \(Duration.seconds(Int64(seconds)).shown)\n")
}

/// That a grant opened the store.
private let partly = ToolError(
  .locked, "this password opens some keys only, and what is kept would open all: nothing is kept",
  hint: "give it to each command with --password-file FILE")

private func lockStores(_ call: Invocation) throws {
  try RootKeeper.forget(call.positionals.isEmpty ? nil : try call.storeID())
  // Where nobody says where an agent would be, one may still keep all it has.
  _ = try AgentServer.requiredFolderPath()
}

extension Invocation {
  /// The id of the store on the command line.
  func storeID() throws -> RecordID { try withStore(.never, readOnly: true) { $0.id } }
}

extension Duration {
  /// `15m`, or `14m 59s`.
  var shown: String {
    let seconds = components.seconds
    let parts = [
      (seconds / 86_400, "d"), (seconds / 3600 % 24, "h"), (seconds / 60 % 60, "m"), (seconds % 60, "s"),
    ].filter { $0.0 > 0 }
    return parts.isEmpty ? "0s" : parts.map { "\($0.0)\($0.1)" }.joined(separator: " ")
  }
}
