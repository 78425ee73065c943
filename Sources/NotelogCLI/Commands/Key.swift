// `notelog key list STORE` and `key add STORE NAME`.
import Notelog

extension Command {
  static let keyList: Command = Command(
    words: ["key", "list"], summary: "list the named keys",
    discussion: ["Without a password the keys' names stay sealed, and only their numbers are shown."],
    positionals: [.store], options: [.json], run: listKeys)

  static let keyAdd: Command = Command(
    words: ["key", "add"], summary: "make a named key",
    positionals: [.store, Positional(name: "NAME", help: "the key's name")], options: [keyClass], run: addKey)

  fileprivate static let keyClass = Option(
    long: "class", value: "CLASS", completion: .words(["whenUnlocked", "afterFirstUnlock"]),
    help: "whenUnlocked: gone when the store is locked; afterFirstUnlock: kept until the process ends")
}

@Sendable
private func listKeys(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.ifGiven, readOnly: true) { store in
    for key in store.info.keys {
      let name = key.name.map(console.line) ?? "its name is sealed"
      try invocation.print("\(key.number)  \(key.keyClass)  \(name)\n", or: key.json, on: console)
    }
    return .done
  }
}

@Sendable
private func addKey(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  let classes: [String: KeyClass] = ["whenUnlocked": .whenUnlocked, "afterFirstUnlock": .afterFirstUnlock]
  let name = invocation.value(of: Command.keyClass) ?? "whenUnlocked"
  guard let keyClass = classes[name] else {
    throw .usage("there is no class '\(name)'", hint: "the classes are whenUnlocked and afterFirstUnlock")
  }
  return try invocation.withStore(.required) { store in
    try store.createKey(invocation.positionals[1], keyClass)
    return .done
  }
}
