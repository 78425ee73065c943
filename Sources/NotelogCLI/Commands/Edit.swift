// `notelog edit STORE ID [FIELD]`.
import Foundation
import Notelog

extension Command {
  static let edit: Command = Command(
    words: ["edit"], summary: "change a record in an editor",
    discussion: """
      The editor is the one that VISUAL or EDITOR names, or vi. It is given FIELD's value, which a newline follows; or the whole record: a line
      NAME: VALUE for each field, and below an empty line one text as it is, whose NAME: is the last line above. That is always the last sealed
      text of the schema whose name is not like a secret's or, where no text is sealed, the last text. Bytes and other values of several lines are
      left out. A line that is taken away changes nothing; nothing behind the colon is no value, or an empty text.

      The file is in memory, in XDG_RUNTIME_DIR, and never on a disk. It is overwritten and removed at the end, also when a signal ends the
      tool, and with it what the editor left beside it. vim and nano are told to keep no swap, undo, history and backup files; of other
      editors you have to know where they keep such files.

      Others may write meanwhile. Nothing is written where nothing was changed, or the editor failed. Where what was written is no value, the
      record was changed meanwhile, or another process is writing, it can be edited again; where it is not, what was typed goes to standard
      output.
      """,
    positionals: [
      .store, Positional(name: "ID", help: .idHelp),
      Positional(name: "FIELD", completion: .fields, isOptional: true, help: "only this field's value"),
    ],
    examples: ["EDITOR=nano notelog edit my.notelog ID body": "opens the body in nano"],
    run: done(editRecord))
}

private func editRecord(_ call: Invocation) throws {
  try call.checkPath()
  let editor = try editorWords(ProcessInfo.processInfo.environment)
  let folder = try AgentServer.requiredFolderPath("nothing can be edited")
  try call.withStore(.required, leases: true) { store in
    let id = try call.recordID(call.positionals[1], in: store)
    let first = try store.entry(id)
    let collection = try store.collection(given: first.collection)
    let page = try RecordPage(first, of: collection, only: call.positionals.dropFirst(2).first)
    let file = try EditedFile(in: folder, named: id.shown + ".txt", holding: page.text)
    defer { file.remove() }
    var revision = first.revision
    while true {
      let code = try file.change(by: editor)
      guard code == 0 else {
        throw ToolError(.failed, "the editor ended with exit code \(code), and nothing was changed")
      }
      var typed = ""
      do {
        guard file.isFile else {
          throw ToolError(.failed, "the editor left no file, and nothing was changed")
        }
        typed = try Assignment("the file=@" + file.path).value(as: .text).shown
        let changes = try page.changes(in: typed)
        if changes.isEmpty {
          Console.say("note", "nothing was changed")
          return
        }
        try saying([.conflict: changed]) {
          try store.write { tx in
            try tx.update(in: collection, id, changes, if: .revision(revision))
          }
        }
        return
      } catch {
        var error = ToolError(any: error)
        let isChanged = error == changed
        let now = isChanged ? try? store.entry(id) : nil
        if isChanged, now == nil { error = removed }
        if Console.canAsk {
          error.say()
          error = ToolError(.no, "nothing was changed")
        }
        guard try Console.canAsk && Console.ask("edit it again?", proposing: true) else {
          // It is nowhere else.
          if !typed.isEmpty { error.hint = "what was typed is on standard output" }
          try Console.out.write(Console.outIsTerminal ? Escaping.text(typed) : typed)
          throw error
        }
        // Who was told that others changed it replaces what they wrote.
        if let now { revision = now.revision }
      }
    }
  }
}

private let changed = ToolError(
  .busy, "the record was changed meanwhile", hint: "what is saved now replaces these fields")

private let removed = ToolError(
  .busy, "the record was removed meanwhile", hint: "'notelog add' makes another one of what was written")

// MARK: - The editor, told to write nothing but the file.

private func editorWords(_ environment: [String: String]) throws -> [String] {
  let (place, text) =
    ["VISUAL", "EDITOR"].lazy.compactMap { name in environment[name].map { ("$" + name, $0) } }
    .first { !$0.1.isEmpty } ?? ("", "vi")
  var words = try SecretSource.words(text, of: place)
  let folders = (environment["PATH"] ?? "").split(separator: ":").map { $0 + "/" + words[0] }
  let paths = words[0].contains("/") ? [words[0]] : folders
  let found = paths.first { FileManager.default.isExecutableFile(atPath: $0) } ?? words[0]
  let name = URL(filePath: found).resolvingSymlinksInPath().lastPathComponent
  if name.hasPrefix("vim") || name.hasPrefix("nvim") {
    // They hold for what is read from now on, whatever the user's own settings say. A line of a value is no
    // setting either.
    let settings = "setl noswf noudf noml | set nobk nowb"
    words += ["-n", "-i", "NONE", "--cmd", "au BufReadPre * \(settings)"]
  } else if name == "nano" {
    words.append("-R")
  }
  return words
}

// MARK: - A record, or a value of it, as text for an editor.

/// What is edited, and what it was before.
private struct RecordPage {
  /// The fields that have a line of their own, and then the one whose value comes last; none where only one is
  /// edited.
  private var lines: [(field: FieldInfo, text: String)] = []
  /// The field whose value comes last, as it is.
  private var last: (field: FieldInfo, text: String)?

  /// Takes a record's values, or that of a field.
  init(_ entry: DynamicEntry, of collection: DynamicCollection, only name: String?) throws {
    let fields = try name.map { [try collection.field($0)] } ?? collection.fieldsInUse
    let shown = RecordShown(entry, opening: true, only: Set(fields.map(\.name)))
    func text(_ field: FieldInfo) -> String? {
      guard let found = shown.fields.first(where: { $0.name == field.name }) else { return "" }
      if case .value(let value) = found.content { return value.shown }
      return nil
    }
    if name != nil {
      if fields[0].type == .bytes {
        throw ToolError.usage(
          "bytes are no text to edit", hint: "'notelog get' and 'notelog set' take a file")
      }
      if let content = shown.fields.first?.content, text(fields[0]) == nil {
        throw ToolError(.failed, "'\(fields[0].name)' can't be edited: \(RecordShown.text(content))")
      }
    }
    // The schema says it, and no value: what is typed below never gets into another field.
    let texts = fields.filter { $0.type == .text }
    let sealed = texts.filter(\.isSealed)
    let choices = sealed.isEmpty ? texts : sealed
    let lastField =
      name != nil ? fields[0] : choices.last { !$0.name.isNamedLikeSecret } ?? choices.last
    var leftOut: [String] = []
    for field in fields where field.type != .bytes {
      let text = text(field)
      if let text, field.name == lastField?.name {
        last = (field, text)
      } else if let text, !text.contains(where: \.isNewline) {
        lines.append((field, text))
      } else {
        leftOut.append(field.name)
      }
    }
    if name == nil, let last { lines.append((last.field, "")) }
    if !leftOut.isEmpty {
      Console.say(
        "note", "left out: \(leftOut.joined(separator: ", ")); each can be edited alone, by its name")
    }
  }

  /// The file's text. What an editor may add to it, or not, is its last newline.
  var text: String {
    let head = lines.map { "\($0.field.name):\($0.text.isEmpty ? "" : " ")\($0.text)\n" }.joined()
    return head + (lines.isEmpty ? "" : "\n") + (last.map { $0.text + "\n" } ?? "")
  }

  /// The values that are others than before.
  func changes(in text: String) throws -> [String: DynamicValue] {
    // An editor that could not write leaves nothing.
    if text.isEmpty, !lines.isEmpty { throw ToolError.usage("the file is empty") }
    var texts: [(field: FieldInfo, before: String, now: String)] = []
    var rest = Substring(text)
    // Without its line the last text was taken away.
    var isNamed = lines.isEmpty
    while !lines.isEmpty, !rest.isEmpty {
      // What one character is to Swift may be two to an editor: CR and LF.
      let end = rest.utf8.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
      let line = rest[..<end]
      rest = Substring(rest.utf8[end...].dropFirst())
      if line.isEmpty { break }
      let named = lines.filter { line.hasPrefix($0.field.name + ":") }
      guard let (field, before) = named.max(by: { $0.field.name.count < $1.field.name.count }) else {
        throw ToolError.usage(
          "a line before the first empty one is no NAME: VALUE",
          hint: "the names are: \(lines.map(\.field.name).joined(separator: ", "))")
      }
      let value = line.dropFirst(field.name.count + 1)
      if field.name == last?.field.name {
        isNamed = true
        guard value.allSatisfy(\.isWhitespace) else {
          throw ToolError.usage("the text of \(field.name) stands below the empty line")
        }
      } else {
        texts.append((field, before, String(value.first == " " ? value.dropFirst() : value)))
      }
    }
    if !isNamed || last == nil, rest.contains(where: { !$0.isWhitespace }) {
      throw ToolError.usage("there is no field for the text behind the empty line")
    }
    if let last, isNamed {
      if rest.utf8.last == UInt8(ascii: "\n") { rest = Substring(rest.utf8.dropLast()) }
      texts.append((last.field, last.text, String(rest)))
    }
    var changes: [String: DynamicValue] = [:]
    for (field, before, now) in texts where !now.utf8.elementsEqual(before.utf8) {
      changes[field.name] = try field.checked(try field.type.value(typed: now, for: field.name))
    }
    return changes
  }
}
