// `notelog key list STORE`, `key add`, `key rotate`, `key shred`, `key recovery`, `key grant` and `key evidence`.
import Notelog

extension Command {
  static let keyList: Command = Command(
    words: ["key", "list"], summary: "list the named keys",
    discussion: """
      Each with its number, when it may be used, and how many values are sealed under it, counted in all records. Without a
      password the keys' names stay sealed; --unlock shows them.
      """,
    positionals: [.store], options: [.unlock, .json], run: listKeys)

  static let keyAdd: Command = Command(
    words: ["key", "add"], summary: "make a named key",
    discussion: """
      Keys of the classes ThisDeviceOnly stay behind when the store is moved; keys of the classes always need no password where
      this device's secret is, a file that --device-secret names.

      A field comes under the key when it is added: 'notelog schema seal STORE COLLECTION NAME=TYPE --under NAME'.
      """,
    positionals: [.store, .keyName], options: [keyClass, shreddable], run: done(addKey))

  static let keyRotate: Command = Command(
    words: ["key", "rotate"], summary: "seal everything under a key anew, under a new generation of it",
    discussion: """
      New values are under the new generation at once. It may be interrupted, and goes on when it is called again. At the end the
      old generation is given up, and what was sealed under it is compacted away, with all older versions that the store keeps; copies of the store made before still hold it.
      """,
    positionals: [.store, .keyName], options: [startAnew, .yes, .json], run: rotateKey)

  static let keyShred: Command = Command(
    words: ["key", "shred"], summary: "make everything under a key unreadable, in all copies of the store",
    discussion: """
      Only for keys that were added with --shreddable.
      \(Store.shreddingLimits)
      """,
    positionals: [.store, .keyName], options: [.yes], run: done(shredKey))

  static let keyRecovery: Command = Command(
    words: ["key", "recovery"], summary: "make a recovery key, and print it once",
    discussion: """
      It opens the store like a password, is written down and kept elsewhere, and read back with --recovery-file: letters typed
      wrongly or exchanged are found. 'password remove STORE SLOT' takes it away.
      """,
    positionals: [.store], options: [], run: done(makeRecoveryKey))

  static let keyGrant: Command = Command(
    words: ["key", "grant"], summary: "add a password that opens some keys only",
    discussion: """
      Whoever has it reads what is sealed under these keys, and writes nothing that is sealed. 'password remove STORE SLOT' takes it away,
      but nothing that was read or copied before: rotate the keys then.
      """,
    positionals: [
      .store, Positional(name: "NAME", completion: .keys, repeats: true, help: "the keys' names"),
    ],
    options: [.newPasswordFile, .scryptLogN, .yes], run: done(grantKeys))

  static let keyEvidence: Command = Command(
    words: ["key", "evidence"], summary: "keep evidence of what the store holds, from now on",
    discussion: """
      Each record gets a seal, and each transaction a sealed sum of all records: verify tells then whether somebody without the key changed, added, dropped or
      put back anything. What was done before it does not tell. Records are written only by whoever has the key then, and this can't be undone.

      It may be interrupted, and goes on when it is called again. The key that it makes is rotated as any other: 'notelog key rotate STORE \(Store.evidenceKeyName)'.
      """,
    positionals: [.store], options: [.json], run: keepEvidence)

  fileprivate static let keyClass = Option(
    long: "class", value: "CLASS", completion: KeyClass.allCases.map(\.rawValue),
    help:
      "when it may be used: whenUnlocked (until the store is locked), afterFirstUnlock (until the process ends) or always; "
      + "with ThisDeviceOnly behind it, on this device only")
  fileprivate static let shreddable = Option(
    long: "shreddable",
    help: "make it so that it can be shredded: its data then need a file that no backup has")
  fileprivate static let startAnew = Option(
    long: "anew", help: "make another generation, also while values are left under an older one")
}

extension Positional {
  fileprivate static let keyName = Positional(name: "NAME", completion: .keys, help: "the key's name")
}

private func listKeys(_ call: Invocation) throws -> ExitCode {
  try call.withStore(.ifGiven, readOnly: true) { store in
    let counted = try store.countSealedValues()
    for key in store.info().keys {
      try call.print(
        "\(key.number)  \(key.keyClass)  \(key.words(counted))  \(key.shownName)", or: key.json(counted))
    }
    if !counted.isExact {
      Console.say("warning", "something can't be read: there may be more values than counted")
    }
    return .done
  }
}

extension StoreInfo.Key {
  var shownName: String { name.map(Escaping.line) ?? "its name is sealed" }

  /// How many values are under it, and what else is to be known of it.
  func words(_ sealed: SealedValueCounts?) -> String {
    func count(_ key: UInt32) -> Int { sealed?.counts[key] ?? 0 }
    let old = generations.filter { $0 != number }.map { ", \(count($0)) under \($0)" }.joined()
    let values = sealed == nil ? "its values not counted" : counted(count(number), "value") + old
    return switch state {
    case .open, .locked: values
    case .shredded: "\(counted(generations.reduce(0) { $0 + count($1) }, "value")), shredded"
    case .elsewhere: values + ", stayed on another device"
    case .missingFile: values + ", its effaceable file is missing"
    }
  }

  func json(_ counted: SealedValueCounts?) -> JSONValue {
    [
      "number": number, "name": name, "class": keyClass, "shreddable": isShreddable, "state": state.rawValue,
      "generations": generations.map { number -> JSONValue in
        ["number": number, "values": counted.map { $0.counts[number] ?? 0 }]
      },
    ]
  }
}

private func addKey(_ call: Invocation) throws {
  let keyClass = try call.choice(of: Command.keyClass, among: KeyClass.self) ?? .whenUnlocked
  let isShreddable = call.has(Command.shreddable)
  try call.withStore(.required) { store in
    let name = call.positionals[1]
    try store.createKey(name, keyClass, isShreddable: isShreddable)
    if Console.errorIsTerminal {
      Console.say(
        "hint",
        "'notelog schema seal \(call.store) COLLECTION NAME=TYPE --under \(name)' adds a field under it")
    }
    if isShreddable {
      Console.say(
        "note", "backups leave the key's effaceable file out; who loses it loses what is sealed under the key"
      )
    }
  }
}

private func rotateKey(_ call: Invocation) throws -> ExitCode {
  let name = call.positionals[1]
  return try call.withStore(
    .required,
    asking: { store in
      if store.info().keepsVersions != nil {
        Console.say("note", "at the end the older versions that the store keeps are removed")
      }
      try call.confirm("rotate '\(name)', and leave these in force?", of: store)
    }
  ) { store, _, _ in
    if call.has(Command.startAnew) { try store.beginRotation(of: name) }
    let total = try store.countSealedValues().counts.values.reduce(0, +)
    let (last, resealed, retired) = try inSteps(
      "values", total, orSaying: "'key list' says how much is left, and 'key rotate' goes on"
    ) { try store.rotate(name, .bytes(1 << 20)) }
    if last.isFinished { _ = try withProgress("compacting") { try store.purge(progress: $0) } }
    if Interrupt.isRequested { throw ToolError.interrupted }
    let numbers = retired.map(String.init).joined(separator: ", ")
    let given =
      retired.isEmpty
      ? "" : "; \(retired.count == 1 ? "generation \(numbers) is" : "generations \(numbers) are") given up"
    try call.print(
      "\(counted(resealed, "value")) sealed anew under generation \(last.generation)\(given)",
      or: [
        "resealed": resealed, "generation": last.generation, "retired": retired, "finished": last.isFinished,
      ])
    let code = sayRest(of: last)
    if code != .locked {
      Console.say("note", "copies of the store that were made before still open with the old key")
    }
    return code
  }
}

/// Seals anew in steps, until all is done or no step does anything.
private func inSteps(
  _ unit: String, _ total: Int, orSaying rest: String, _ step: () throws -> RotationStep
) throws -> (last: RotationStep, resealed: Int, retired: [UInt32]) {
  var (resealed, retired): (Int, [UInt32]) = (0, [])
  let last = try withProgress("sealing anew", unit: unit) { progress in
    while true {
      let done: RotationStep
      do { done = try step() } catch let error as NotelogError
        where error.code == .full || error.code == .inputOutput
      {
        Console.say("note", "what is sealed anew stays so: \(rest)")
        throw error
      }
      resealed += done.resealedCount
      retired += done.retired
      let isStuck = done.obstacle != nil || (done.failedCount > 0 && done.resealedCount == 0)
      if done.isFinished || isStuck || !progress(resealed, total) { return done }
    }
  }
  return (last, resealed, retired)
}

/// Says what was not sealed anew, and what that means for the exit code.
private func sayRest(of last: RotationStep) -> ExitCode {
  if last.failedCount > 0, let obstacle = last.obstacle {
    // They are sound, and closed.
    Console.say("error", "\(counted(last.failedCount, "record")) could not be sealed anew: \(obstacle)")
    return .locked
  }
  if let obstacle = last.obstacle { Console.say("warning", "\(obstacle): rotate again later") }
  if last.failedCount > 0 {
    Console.say("error", "\(counted(last.failedCount, "record")) could not be sealed anew: verify the store")
  }
  return last.failedCount > 0 ? .damage : .done
}

private func keepEvidence(_ call: Invocation) throws -> ExitCode {
  try call.withStore(.required) { store in
    let total = store.info().recordCount
    let (last, count, _) = try inSteps("records", total, orSaying: "'key evidence' goes on") {
      try store.keepEvidence(.bytes(1 << 20))
    }
    if Interrupt.isRequested { throw ToolError.interrupted }
    try call.print(
      "\(counted(count, "record")) sealed; evidence is \(last.isFinished ? "kept of all" : "not kept of all yet")",
      or: ["sealed": count, "finished": last.isFinished])
    return sayRest(of: last)
  }
}

private func shredKey(_ call: Invocation) throws {
  let name = call.positionals[1]
  try call.withStore(
    .required,
    asking: { store in
      // Its file is overwritten again all the same where one came back.
      if let key = store.info().keys.first(where: { $0.name == name }) {
        let lost = key.words(try store.countSealedValues())
        Console.say(
          "note", "under '\(name)': \(lost); nobody opens them again, here or in a copy of the store")
        if store.info().keepsVersions != nil {
          Console.say("note", "nor what older versions that the store keeps have under it")
        }
      }
      try call.confirm("shred '\(name)', and leave these in force?", of: store)
    }
  ) { store, _, _ in
    let wasShredded = store.info().keys.contains { $0.name == name && $0.state == .shredded }
    try store.shredKey(name)
    if wasShredded { throw ToolError(.no, "the key '\(name)' was shredded before") }
    Console.say("note", Store.shreddingLimits)
  }
}

private func makeRecoveryKey(_ call: Invocation) throws {
  try call.withStore(.credential) { store in
    let text = try store.addRecoveryKey()
    do {
      try Console.out.writeNow(text + "\n")
    } catch {
      let slot = store.info().slots.map(\.number).max() ?? 0
      throw ToolError(
        .failed, "a recovery key is added that nobody has seen: \(ToolError(any: error).message)",
        hint: "'notelog password remove \(call.store) \(slot)' takes it away")
    }
    Console.say("note", "this is shown once: write it down, and keep it apart from the store")
  }
}

private func grantKeys(_ call: Invocation) throws {
  let work = try call.passwordWork()
  try call.withStore(
    .credential,
    asking: { store in
      try call.confirm("add a grant, and leave these in force?", of: store)
      return try call.newPassword()
    }
  ) { store, _, new in
    try store.grant(Array(call.positionals.dropFirst()), to: new, work: work)
  }
}
