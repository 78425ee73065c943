// SecureNote's screens, and what keys do on each.

import Foundation
import Notelog
import TerminalUI

/// A notebook on a terminal.
@MainActor
struct App {
  enum Question {
    case new
    case unlock
    case change

    var prompt: SecretPrompt {
      switch self {
      case .new: SecretPrompt("a password for your notes: ", isNew: true)
      case .unlock: SecretPrompt("password: ")
      case .change: SecretPrompt("the password so far: ", "the new password: ", isNew: true)
      }
    }
  }

  enum Screen {
    case asking(Question, SecretPrompt)
    case list
    /// A note, and the first row of it that is shown.
    case reading(Note, Int)
    case editing(Note, Editor)
  }

  let path: String
  let idle: Duration
  let terminal: Terminal
  var notebook: Notebook?
  var screen: Screen
  var message = ""
  var search = ""
  /// What is listed; nil where that has changed since.
  var window: ListWindow<NoteList>?
  private var wrongCount = 0
  /// Until when nothing typed is heard, after a wrong password.
  private var pauseEnd: ContinuousClock.Instant?
  /// Goes on while the machine sleeps, which counts as idle.
  private var lastKey = ContinuousClock.now

  init(path: String, idle: Duration, on terminal: Terminal) throws {
    (self.path, self.idle, self.terminal) = (path, idle, terminal)
    notebook = try Notebook(at: path)
    screen = .list
    ask(notebook == nil ? .new : .unlock)
  }

  var isOpen: Bool { notebook.map { !$0.isLocked } ?? false }

  /// Runs until somebody leaves.
  mutating func run() throws {
    while true {
      attempt { try $0.refresh() }
      draw()
      let deadline = pauseEnd ?? (isOpen ? lastKey + idle : .now + .seconds(3600))
      for event in terminal.wait(atMost: (deadline - .now) / .seconds(1)) {
        switch event {
        case .ended, .key(.control("q")), .key(.control("c")): return try leave()
        case .resized: break
        case .key(let key):
          lastKey = .now
          if pauseEnd == nil { attempt { try $0.type(key) } }
        }
      }
      if isOpen, lastKey + idle <= .now { lock("locked, as nobody typed anything") }
      if let end = pauseEnd, end <= .now {
        terminal.forgetTyped()
        (pauseEnd, message) = (nil, "")
      }
    }
  }

  /// Does something; what it throws is said, and nothing that was written so far is lost.
  private mutating func attempt(_ body: (inout App) throws -> Void) {
    do { try body(&self) } catch { message = error.localizedDescription }
  }

  // MARK: - Locking and unlocking

  /// What was being written is sealed first; nothing of it stays on the screen. It locks even if the disk is
  /// full.
  private mutating func lock(_ why: String) {
    message = why
    attempt { app in
      if case .editing(let note, let editor) = app.screen { try app.save(note, editor) }
      try app.rememberPlace()
    }
    notebook?.lock()
    (search, window) = ("", nil)
    ask(.unlock)
    terminal.clear()
  }

  private mutating func leave() throws {
    guard isOpen else { return try notebook?.store.close() ?? () }
    lock("")
    try notebook?.store.close()
  }

  private mutating func open() throws {
    (screen, message, wrongCount, lastKey, window) = (.list, "", 0, .now, nil)
    if let note = try placeRemembered() { screen = .reading(note, 0) }
  }

  private mutating func answer(_ question: Question, _ prompt: SecretPrompt, _ key: Key) throws {
    var prompt = prompt
    let outcome = prompt.type(key)
    screen = key == .escape && isOpen ? .list : .asking(question, prompt)
    switch outcome {
    case .typing: break
    case .different: message = "these were two passwords: once more"
    case .answered(let answers):
      ask(question)
      do { try take(answers, question) } catch let error as NotelogError where error.code == .wrongPassword {
        pause(error.localizedDescription)
      }
    }
  }

  private mutating func take(_ answers: [String], _ question: Question) throws {
    switch question {
    case .new:
      notebook = try Notebook(creatingAt: path, password: answers[0])
      try open()
    case .unlock:
      try notebook?.store.unlock(.password(answers[0]))
      try open()
    case .change:
      try notebook?.store.changeCredential(.password(answers[0]), to: .password(answers[1]))
      (screen, message) = (.list, "the password is changed")
    }
  }

  private mutating func ask(_ question: Question) { screen = .asking(question, question.prompt) }

  /// Each wrong password costs twice the time of the one before.
  private mutating func pause(_ why: String) {
    let seconds = min(1 << wrongCount, 64)
    wrongCount = min(wrongCount + 1, 6)
    pauseEnd = .now + .seconds(seconds)
    message = "\(why) Wait \(seconds) s."
  }

  // MARK: - The list, a note, the editor

  private mutating func type(_ key: Key) throws {
    message = ""
    if key == .control("l"), isOpen { return lock("locked") }
    switch screen {
    case .asking(let question, let prompt): try answer(question, prompt, key)
    case .list: try typeInList(key)
    case .reading(let note, let first): typeInNote(note, first, key)
    case .editing(let note, var editor):
      switch key {
      case .control("s"):
        try save(note, editor)
        (screen, message) = (.list, "saved")
      case .escape: screen = .list
      default:
        editor.type(key, columns: terminal.size.columns)
        screen = .editing(note, editor)
      }
    }
  }

  /// Lists anew once for all keys that came together, and fits the list to the screen.
  private mutating func refresh() throws {
    let pageCount = pageCount
    if window == nil {
      window = try notebook.map { try ListWindow($0.list(containing: search), rows: pageCount) }
    }
    try window?.show(rows: pageCount)
  }

  private mutating func typeInList(_ key: Key) throws {
    switch key {
    case .text(let character): return look(for: search + String(character))
    case .backspace: return look(for: String(search.dropLast()))
    case .escape: return look(for: "")
    case .home: window = nil
    case .control("n"): screen = .editing(Note(), Editor())
    case .control("p"): ask(.change)
    case .control("z"):
      message = try notebook?.undoDeletion().map { "'\($0.title)' is back" } ?? "nothing was deleted"
      window = nil
    default: break
    }
    // What moves or opens means the list as it is by now.
    try refresh()
    switch key {
    case .up: try window?.move(-1)
    case .down: try window?.move(1)
    case .pageUp: try window?.turn(forward: false)
    case .pageDown: try window?.turn(forward: true)
    case .end: try window?.moveToEnd()
    case .enter: if let note = try window?.current?.record() { screen = .reading(note, 0) }
    case .control("d"):
      guard let note = try window?.current?.record() else { return }
      try notebook?.delete(note)
      try window?.removeCurrent()
      message = "deleted; ^Z brings it back"
    default: break
    }
  }

  private mutating func look(for text: String) { (search, window) = (text, nil) }

  private mutating func typeInNote(_ note: Note, _ first: Int, _ key: Key) {
    switch key {
    case .escape: screen = .list
    case .enter, .text("e"): screen = .editing(note, Editor(note.title + "\n" + note.body))
    case .up: screen = .reading(note, max(0, first - 1))
    case .down: screen = .reading(note, first + 1)
    case .pageUp: screen = .reading(note, max(0, first - pageCount))
    case .pageDown: screen = .reading(note, first + pageCount)
    default: break
    }
  }

  private mutating func save(_ note: Note, _ editor: Editor) throws {
    var note = note
    let lines = editor.text.split(separator: "\n", maxSplits: 1, omittingEmptySubsequences: false)
    (note.title, note.body) = (String(lines[0]), lines.count > 1 ? String(lines[1]) : "")
    guard !note.title.isEmpty || !note.body.isEmpty else { return }
    note.time = Date()
    try notebook?.save(note)
    window = nil
  }

  // MARK: - The place to go on from

  /// A file beside the store holds a reference, which says nothing about the note but that it was open.
  private var placeFile: URL { URL(filePath: path + ".place") }

  private func rememberPlace() throws {
    let note: Note? =
      switch screen {
      case .reading(let note, _), .editing(let note, _): note
      default: nil
      }
    guard let note, let store = notebook?.store else { return try Data().write(to: placeFile) }
    try Data(store.reference(to: Note.self, note.id).absoluteString.utf8).write(to: placeFile)
  }

  private func placeRemembered() throws -> Note? {
    guard let text = try? String(contentsOf: placeFile, encoding: .utf8),
      let reference = URL(string: text)
    else { return nil }
    return try notebook?.store.get(Note.self, reference)?.record()
  }
}
