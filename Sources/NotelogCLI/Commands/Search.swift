// `notelog search STORE TEXT`: the records that hold a text, sealed or not.
import Foundation
import Notelog

extension Command {
  static let search: Command = Command(
    words: ["search"], summary: "list the records that hold a text",
    discussion: "It looks into all text fields, or those named by --field. If nothing is found, it exits 1.",
    positionals: [.store, Positional(name: "TEXT", help: "what to look for")],
    options: [.field, ignoreCase, .limit, .json],
    examples: [
      (line: "notelog search my.notelog -i bread", does: "notes with bread, Bread or BREAD in them")
    ],
    run: searchRecords)

  fileprivate static let ignoreCase = Option(
    long: "ignore-case", short: "i", help: "take capital and small letters for the same")
}

private func searchRecords(_ call: Invocation) throws -> ExitCode {
  let text = call.positionals[1]
  let names = call.values[Option.field.long]
  let limit = try call.number(of: .limit, in: 0...Int.max) ?? .max
  let options: String.CompareOptions = call.has(Command.ignoreCase) ? [.caseInsensitive] : [.literal]
  return try call.withStore(.ifGiven, readOnly: true) { store in
    var found = 0
    let outcome = try ReadingOutcome(of: store, store.hasAllSchemas() ? .no : .damage)
    for name in names ?? [] where !store.collections.contains(where: { $0.fieldsInUseByName[name] != nil }) {
      // Says which name may have been meant.
      for collection in store.collections { _ = try collection.field(name) }
    }
    for collection in store.collections {
      let fields = collection.fieldsInUse.filter { $0.type == .text && names?.contains($0.name) ?? true }
      let shown = collection.fieldsToList
      let only = call.has(.json) ? nil : Set(shown)
      try call.unlock(store, toRead: fields.map(\.name) + shown, of: collection)
      try collection.forEach { entry in
        guard found < limit else { return false }
        let holds: Bool
        do {
          holds = try fields.contains { field in
            guard case .text(let value) = try entry.value(field.name) else { return false }
            return value.range(of: text, options: options) != nil
          }
        } catch let error as NotelogError where error.code == .damaged || error.code == .tampered {
          return outcome.noteUnreadable(entry.id, error)
        }
        guard holds else { return true }
        found += 1
        if outcome.code == .no { outcome.code = .done }
        let record = RecordShown(entry, opening: true, only: only)
        try record.list(shown, asJSON: call.has(.json))
        outcome.note(record)
        return true
      } damaged: {
        outcome.noteUnreadable($0, $1)
      }
    }
    return outcome.end()
  }
}
