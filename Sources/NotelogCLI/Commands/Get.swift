// `notelog get STORE ID [FIELD]` and `notelog remove STORE ID...`.
import Notelog

extension Command {
  static let get: Command = Command(
    words: ["get"], summary: "print a record, or one field of it as it is",
    discussion: """
      A record that does not exist exits 1.

      A field's value goes to a file or a pipe as it is, piece by piece, however long it is: what came out before an error is a part of it. In a whole record,
      a value of more than 16 MiB is left out and said, and it exits 4.

      On a terminal times are local, to the second, and texts have their lines; --utc shows times as scripts get them.

      ID@REVISION is an older version of the record, while the store has it: see 'history'.
      """,
    positionals: [
      .store, Positional(name: "ID[@REVISION]", help: .idHelp),
      Positional(
        name: "FIELD", completion: .fields, isOptional: true,
        help: "print this field's value, and nothing else"),
    ],
    options: [.utc, .json], run: getRecord)

  static let remove: Command = Command(
    words: ["remove"], summary: "remove records",
    discussion: """
      No key is needed. All are removed at once or, where that fails or one of them does not exist, none.

      What was removed is printed, a line for each as 'list' has it, with the fields that 'list' shows unless told otherwise; what is sealed is
      opened where a key was given. 'undo' brings it back; the next command that writes may give its space back.
      """,
    positionals: [.store, Positional(name: "ID", repeats: true, help: .idHelp)], options: Option.rows,
    run: done(removeRecords))
}

private func getRecord(_ call: Invocation) throws -> ExitCode {
  return try call.withStore(.ifGiven, readOnly: true) { store in
    let (id, revision) = try call.version(call.positionals[1], in: store)
    let entry = try revision.map { try store.entry(id, revision: $0) } ?? store.entry(id)
    let collection = try store.collection(given: entry.collection)
    if call.positionals.count > 2 {
      let field = try collection.field(call.positionals[2])
      try call.unlock(store, toRead: [field.name], of: collection)
      let none = ToolError(.no, "record \(id.shown) has no \(field.name)")
      let longByteCount = try entry.fields.first { $0.name == field.name }.flatMap(entry.longByteCount)
      // Pieces are bytes: that a value is no text or JSON shows where it is read whole.
      if field.isSealed, field.type == .bytes || longByteCount != nil && [.text, .json].contains(field.type),
        !call.has(.json), !Console.outIsTerminal
      {
        guard let content = try entry.content(of: field.name) else { throw none }
        try content.forEachPiece { try Console.out.write(bytes: $0) }
        return .done
      }
      if let count = longByteCount {
        throw ToolError(
          .failed, "\(field.name) has \(count) bytes, which is more than can be shown",
          hint: "send it to a file: notelog get \(call.store) \(call.positionals[1]) \(field.name) >FILE")
      }
      let value = try entry.value(field.name)
      if value == .missing { throw none }
      if call.has(.json) {
        try Console.print(value.json)
      } else if Console.outIsTerminal {
        try Console.out.write(Escaping.text(value.shown(isUTC: call.has(.utc))) + "\n")
      } else if case .bytes(let bytes) = value {
        try Console.out.write(bytes: bytes)
      } else {
        try Console.out.write(value.shown)
      }
      return .done
    }
    try call.unlock(store, toRead: entry.fields.map(\.name), of: collection)
    let shown = RecordShown(entry, opening: true)
    try call.print(shown.lines(isUTC: call.has(.utc)), or: shown.json(collection.fieldsInUse.map(\.name)))
    let outcome = ReadingOutcome(of: store)
    outcome.note(shown)
    return outcome.end()
  }
}

private func removeRecords(_ call: Invocation) throws {
  var given: Set<RecordID> = []
  let form = try call.rowForm()
  try call.withStore(.ifGiven) { store in
    let ids = try call.positionals.dropFirst().map { try call.recordID($0, in: store) }
      .filter { given.insert($0).inserted }
    let collections = store.collections
    if !store.isUnlocked { _ = try call.unlockWithKeptRoot(store) }
    // One that can't be read is removed all the same, and has nothing to show but its id. What is long can't be
    // read any more when it is removed.
    let removed = ids.map { id in
      collections.lazy.compactMap { collection in
        (try? collection.get(id)).map { entry in
          RecordShown(entry, opening: store.isUnlocked, only: Set(collection.fieldsToList))
        }
      }.first
    }
    do {
      try store.write { tx in
        for id in ids where try !collections.contains(where: { try tx.delete(in: $0, id) }) {
          throw ToolError(.no, "there is no record \(id.shown)")
        }
      }
    } catch {
      let error = ToolError(any: error)
      if error.isOutcomeUnknown { throw error }
      throw ToolError(error.code, "nothing was removed: \(error.message)", hint: error.hint)
    }
    for (id, found) in zip(ids, removed) where found == nil {
      try call.print([id.shown], or: ["id": id.shown])
    }
    let outcome = ReadingOutcome(of: store)
    for collection in collections {
      let records = removed.compactMap { $0?.entry.collection == collection.name ? $0 : nil }
      if records.isEmpty { continue }
      // What is gone is found by its whole id only.
      let fields = try collection.fieldsToList.map(collection.field)
      var rows = RecordRows(form, fields, isUTC: call.has(.utc), id: \.shown)
      for record in records { try rows.add(record, noting: outcome) }
      try rows.finish()
    }
  }
}
