// What SecureNote shows.

import Foundation
import Notelog
import TerminalUI

extension App {
  /// How many notes of the list are on the screen.
  var pageCount: Int { max(1, terminal.size.rows - 4) }

  func draw() {
    let (columns, height) = terminal.size
    var rows: [Row]
    switch screen {
    case .asking(_, let prompt): rows = [heading, Row(), prompt.row, Row()] + list
    case .list:
      rows = [heading, Row("search: ", .faint) + Row(search) + .cursor, Row()] + list
    case .reading(let note, let first):
      let body = Array(note.body)
      rows = [Row(note.title, .bold), Row(shown(note.time), .faint), Row()]
      rows += wrapped(body, columns: columns).dropFirst(first).map { Row(String(body[$0])) }
    case .editing(_, let editor):
      rows = [Row("the first line is the title", .faint)] + editor.rows(columns: columns, count: height - 3)
    }
    rows = Array(rows.prefix(max(0, height - 1)))
    rows += Array(repeating: Row(), count: max(0, height - 1 - rows.count))
    terminal.draw(rows + [message.isEmpty ? Row(help, .faint) : Row(message, .bold)])
  }

  private var heading: Row {
    let count = window.map { $0.list.count.map { "\($0)" } ?? "more than \(NoteList.few)" } ?? "no"
    return Row("SecureNote", .bold)
      + Row(
        "   \(count) \(search.isEmpty ? "notes" : "found")\(notebook?.isLocked ?? false ? ", locked" : "")")
  }

  private var list: [Row] {
    guard let window else { return [] }
    return window.shown.enumerated().map { place, entry in
      let time = (try? shown(entry.time)) ?? ""
      // Locked, it has no title to show.
      guard isOpen else { return Row("\(time)  ••••••••", .faint) }
      let title = (try? entry.title) ?? "(damaged)"
      return Row("\(time)  \(title)", place == window.selected ? .inverse : .plain)
    }
  }

  private var help: String {
    switch screen {
    case .asking: "Enter: go on   ^Q leave"
    case .list: "Enter read   ^N new   ^D delete   ^Z undo   ^P password   ^L lock   ^Q leave"
    case .reading: "E edit   Esc back   ^L lock"
    case .editing: "^S save   Esc leave it as it was   ^L save and lock"
    }
  }

  private func shown(_ time: Date) -> String {
    let style = Date.ISO8601FormatStyle(dateTimeSeparator: .space, timeZone: .current)
    return String(
      time.formatted(style.year().month().day().time(includingFractionalSeconds: false)).prefix(16))
  }
}
