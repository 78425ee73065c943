// `notelog add STORE [COLLECTION] NAME=VALUE...` and `notelog set STORE ID NAME=VALUE...`.
import Notelog

extension Command {
  static let add: Command = Command(
    words: ["add"], summary: "add a record, and print its id",
    discussion: """
      \(assignmentHelp)

      The collection may be left out where there is only one. Of what is not optional, a date is now and a text empty unless given; the others have to be given.

      \(keyHelp)
      """,
    positionals: [
      .store,
      Positional(
        name: "COLLECTION", completion: .collections + .assignments, isOptional: true,
        help: "the record's collection"),
      Positional(name: "NAME=VALUE", completion: .assignments, repeats: true, help: "a field and its value"),
    ],
    options: [.fullIDs],
    examples: [
      "notelog add my.notelog title=Hello body=@letter.txt": "takes the body from a file"
    ], run: done(addRecord))

  static let set: Command = Command(
    words: ["set"], summary: "change fields of a record",
    discussion: """
      \(assignmentHelp)

      Fields that are not named stay as they are, sealed ones unopened. NAME= takes a value away, and makes a text empty; --clear takes a text
      away too. What is not optional keeps a value.

      A value has 16 MiB at most, but for one from a file or standard input, for a sealed field of bytes that is not padded, compressed or unique: that has
      any length.

      \(keyHelp)
      """,
    positionals: [
      .store, Positional(name: "ID", help: .idHelp),
      Positional(
        name: "NAME=VALUE", completion: .assignments, isOptional: true, repeats: true,
        help: "a field and its new value"),
    ],
    options: [clear],
    examples: ["notelog set my.notelog ID stars= body=": "takes a number away, and empties a text"],
    run: done(setFields))

  fileprivate static let clear = Option(
    long: "clear", value: "FIELD", completion: .fields, repeats: true,
    help: "take the field's value away; may be repeated")

  private static let keyHelp =
    "A key is needed for plain fields too: with it, the schema that tells plain fields from sealed ones is checked."
  private static let assignmentHelp =
    "NAME=@FILE takes the value from FILE as it is, NAME=- from standard input without the newline at its end, and NAME=@@TEXT is a value that begins with @; one that stands in the command line can be read by whoever lists the "
    + "processes of the machine. A date is RFC 3339, as 2026-11-26T10:00:00Z, local time, as 2026-11-26 or "
    + "'2026-11-26 10:00', or 'now'."
}

private func addRecord(_ call: Invocation) throws {
  var arguments = call.positionals.dropFirst()
  let name = arguments.first.flatMap { $0.contains("=") ? nil : $0 }
  if name != nil { arguments.removeFirst() }
  let assignments = try Assignment.all(arguments)
  guard !assignments.isEmpty else {
    throw ToolError.usage("NAME=VALUE is missing", hint: "usage: \(call.command.synopsis)")
  }
  let id = RecordID()
  try call.withStore(.required) { store in
    let collection = try store.collection(given: name)
    var values = try collection.values(assignments)
    for field in collection.fields where field.needsValue && values[field.name] == nil {
      values[field.name] = try field.initialValue
    }
    do { try store.write { tx in _ = try tx.put(in: collection, id, values) } } catch {
      var error = ToolError(any: error)
      if error.isOutcomeUnknown { error.message += ": record \(id.shown)" }
      throw error
    }
    do {
      try Console.out.writeNow(call.shownIDs(in: store)(id) + "\n")
    } catch {
      throw ToolError(
        .failed, "record \(id.shown) is added, and its id can't be printed: \(ToolError(any: error).message)")
    }
  }
}

private func setFields(_ call: Invocation) throws {
  let assignments = try Assignment.all(
    call.positionals.dropFirst(2), clearing: call.values(of: Command.clear))
  guard !assignments.isEmpty else {
    throw ToolError.usage("NAME=VALUE is missing", hint: "usage: \(call.command.synopsis)")
  }
  try call.withStore(.required) { store in
    let id = try call.recordID(call.positionals[1], in: store)
    let collection = try store.collection(given: try store.entry(id).collection)
    var (held, streamed) = ([Assignment](), [(name: String, input: Input)]())
    for assignment in assignments {
      let input = try assignment.stream(into: try collection.field(assignment.name))
      if let input { streamed.append((assignment.name, input)) } else { held.append(assignment) }
    }
    let values = try collection.values(held)
    guard let (name, input) = streamed.first else { return try collection.update(id, values) }
    guard streamed.count == 1 else {
      throw ToolError.usage(
        "\(name) and \(streamed[1].name) may both be long", hint: "set one long value at a time")
    }
    try collection.update(id, streaming: name, values) { memory in try input.read(into: &memory) }
  }
}
