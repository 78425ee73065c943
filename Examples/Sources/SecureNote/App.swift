// SecureNote's screens, and what keys do on each.

import Foundation
import Notelog
import TerminalUI

/// A notebook on a terminal.
@MainActor
struct App {
  /// What is asked for before anything else is shown.
  enum Question { case new, repeated(String), unlock, old, replacement(String) }

  enum Screen {
    case asking(Question)
    case list
    case view(Note)
    case edit(Note, Editor)
  }

  let path: String
  let idleSeconds: Double
  let terminal: Terminal
  private var notebook: Notebook?
  private var screen: Screen
  private var typed = ""
  private var wrongCount = 0
  private var message = ""
  private var search = ""
  private var ids: [RecordID] = []
  private var selected = 0
  /// Whether the list is to be made anew before it is drawn: once for all that was typed meanwhile.
  private var isListOld = false

  init(path: String, idleSeconds: Double, on terminal: Terminal) throws {
    (self.path, self.idleSeconds, self.terminal) = (path, idleSeconds, terminal)
    notebook = try Notebook(at: path)
    screen = .asking(notebook == nil ? .new : .unlock)
    try list()
  }

  /// Runs until somebody leaves.
  mutating func run() throws {
    draw()
    while true {
      for event in terminal.wait(isOpen ? idleSeconds : 3600) {
        switch event {
        case .ended: return try leave()
        case .idle: if isOpen { try lock("locked, as nobody typed anything") }
        case .resized: break
        case .key(.control("q")), .key(.control("c")): return try leave()
        case .key(.control("l")): if isOpen { try lock("locked") }
        case .key(let key): try type(key)
        }
      }
      if isListOld { try list() }
      draw()
    }
  }

  /// The notebook, which is there on every screen but the first.
  private func opened() throws -> Notebook {
    guard let notebook else { throw CancellationError() }
    return notebook
  }

  private var isOpen: Bool { notebook.map { !$0.isLocked } ?? false }

  private mutating func lock(_ why: String) throws {
    try notebook?.lock()
    (screen, search, message, typed) = (.asking(.unlock), "", why, "")
    try list()
    terminal.clear()
  }

  private mutating func leave() throws {
    try notebook?.lock()
    try notebook?.store.close()
  }

  private mutating func list() throws {
    isListOld = false
    ids = try notebook?.notes(containing: search) ?? []
    selected = min(selected, max(0, ids.count - 1))
  }

  private mutating func type(_ key: Key) throws {
    message = ""
    if isListOld, key.isCommand { try list() }
    switch screen {
    case .asking(let question): try answer(question, key)
    case .list: try typeInList(key)
    case .view(let note): try typeInNote(note, key)
    case .edit(let note, var editor):
      switch key {
      case .control("s"): try save(note, editor)
      case .escape: screen = .list
      default:
        editor.type(key)
        screen = .edit(note, editor)
      }
    }
  }

  private mutating func answer(_ question: Question, _ key: Key) throws {
    switch key {
    case .text(let character): typed.append(character)
    case .backspace: _ = typed.popLast()
    case .escape: if isOpen { (screen, typed) = (.list, "") }
    case .enter:
      let answer = typed
      typed = ""
      try answer.isEmpty ? () : take(answer, question)
    default: break
    }
  }

  private mutating func take(_ answer: String, _ question: Question) throws {
    switch question {
    case .new: screen = .asking(.repeated(answer))
    case .repeated(let first):
      guard answer == first else {
        return (screen, message) = (.asking(.new), "these were two passwords: once more")
      }
      notebook = try Notebook(creatingAt: path, password: answer)
      try open()
    case .unlock:
      if try opened().unlock(answer) { return try open() }
      wrongCount += 1
      pause("the password is not right")
    case .old: screen = .asking(.replacement(answer))
    case .replacement(let old):
      let isChanged = try opened().changePassword(from: old, to: answer)
      screen = .list
      message = isChanged ? "the password is changed" : "the old password was not right: nothing is changed"
    }
  }

  private mutating func open() throws {
    (screen, wrongCount) = (.list, 0)
    try list()
  }

  /// Each wrong password is answered later than the one before; what is typed meanwhile is not heard.
  private mutating func pause(_ why: String) {
    let seconds = min(pow(2, Double(wrongCount - 1)) / 4, 30)
    message = why + ": wait"
    draw()
    let end = Date(timeIntervalSinceNow: seconds)
    while end.timeIntervalSinceNow > 0, terminal.wait(end.timeIntervalSinceNow) != [.ended] {}
    message = why
  }

  private mutating func typeInList(_ key: Key) throws {
    let page = max(1, terminal.size.lines - 4)
    switch key {
    case .text(let character): look(for: search + String(character))
    case .backspace: look(for: String(search.dropLast()))
    case .escape: look(for: "")
    case .up: selected -= 1
    case .down: selected += 1
    case .pageUp: selected -= page
    case .pageDown: selected += page
    case .home: selected = 0
    case .end: selected = ids.count - 1
    case .enter:
      if ids.indices.contains(selected), let note = try opened().note(ids[selected]) { screen = .view(note) }
    case .control("n"): screen = .edit(Note(), Editor())
    case .control("d"): try delete()
    case .control("z"):
      message = try opened().undoDeletion() ? "it is back" : "there is nothing to undo"
      try list()
    case .control("p"): screen = .asking(.old)
    default: break
    }
    selected = min(max(0, selected), max(0, ids.count - 1))
  }

  private mutating func look(for text: String) {
    (search, selected, isListOld) = (text, 0, true)
  }

  private mutating func delete() throws {
    guard ids.indices.contains(selected) else { return }
    try opened().delete(ids.remove(at: selected))
    message = "deleted; Ctrl-Z undoes that"
  }

  private mutating func typeInNote(_ note: Note, _ key: Key) throws {
    switch key {
    case .escape, .left: screen = .list
    case .enter, .text("e"): screen = .edit(note, Editor(note.title + "\n" + note.body))
    default: break
    }
  }

  private mutating func save(_ note: Note, _ editor: Editor) throws {
    var note = note
    note.title = editor.lines[0]
    note.body = editor.lines.dropFirst().joined(separator: "\n")
    note.time = Date()
    try opened().save(note)
    (screen, message) = (.list, "saved")
    try list()
    selected = 0
  }
}

extension Key {
  /// Whether it does more than change what is searched for.
  fileprivate var isCommand: Bool {
    switch self {
    case .text, .backspace: false
    default: true
    }
  }
}

// MARK: - What is shown

extension App {
  private func draw() {
    let (_, height) = terminal.size
    var lines: [String]
    var inverse: Int?
    switch screen {
    case .asking(let question):
      lines = ["SecureNote", "", prompt(question) + String(repeating: "*", count: typed.count) + "▏", ""]
      lines += rows(from: 0, height - 6)
    case .list:
      let count = max(1, height - 4)
      let first = max(0, min(selected - count / 2, ids.count - count))
      lines = ["SecureNote   \(ids.count) notes", "search: \(search)▏"] + rows(from: first, count)
      inverse = ids.isEmpty ? nil : 2 + selected - first
    case .view(let note): lines = [note.title, Self.shown(note.time), ""] + Editor(note.body).lines
    case .edit(_, let editor):
      let count = max(1, height - 3)
      lines = ["title, then text:"] + editor.shown.dropFirst(max(0, editor.line - count + 1))
    }
    lines = Array(lines.prefix(height - 1))
    lines += Array(repeating: "", count: height - 1 - lines.count)
    terminal.draw(lines + [message.isEmpty ? help : message], inverse: inverse)
  }

  private var help: String {
    switch screen {
    case .asking: "Enter: go on   Ctrl-Q: leave"
    case .list: "Enter: read   ^N new   ^D delete   ^Z undo   ^P password   ^L lock   ^Q leave"
    case .view: "E: edit   Esc: back   ^L lock"
    case .edit: "^S save   Esc: leave it as it was"
    }
  }

  private func prompt(_ question: Question) -> String {
    switch question {
    case .new: "a password for your notes: "
    case .repeated: "the same once more: "
    case .unlock: "password: "
    case .old: "the password so far: "
    case .replacement: "the new password: "
    }
  }

  private func rows(from first: Int, _ count: Int) -> [String] {
    let page = ids.dropFirst(first).prefix(max(0, count))
    return ((try? notebook?.page(page)) ?? []).map { Self.shown($0.time) + "  " + $0.title }
  }

  private static func shown(_ time: Date) -> String {
    let style = Date.ISO8601FormatStyle(
      dateSeparator: .dash, dateTimeSeparator: .space, timeSeparator: .colon)
    return String(
      time.formatted(style.year().month().day().time(includingFractionalSeconds: false)).prefix(16))
  }
}
