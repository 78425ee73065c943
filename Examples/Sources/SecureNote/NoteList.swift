// Notes, newest first, of which no more are read than are shown.

import Notelog

/// All notes, or those that a search has found.
struct NoteList {
  /// Up to how many are kept when they are found.
  static let few = 2000

  let notes: Query<Note>
  /// How many there are; nil where they are too many to be counted while somebody types.
  var count: Int?
  /// All of them, where they are few.
  var found: [Entry<Note>]?

  /// The next notes behind one; the newest where there is none.
  func older(than note: Entry<Note>?, _ count: Int) throws -> [Entry<Note>] {
    if let found {
      return Array(found.drop { $0.id != note?.id ?? $0.id }.dropFirst(note == nil ? 0 : 1).prefix(count))
    }
    return try next(notes.sorted(by: \.time, .descending), note, count)
  }

  /// The notes just before one; the oldest where there is none. The newest comes first, as always.
  func newer(than note: Entry<Note>?, _ count: Int) throws -> [Entry<Note>] {
    if let found { return found.prefix { $0.id != note?.id }.suffix(count) }
    return try next(notes.sorted(by: \.time), note, count).reversed()
  }

  private func next(_ query: Query<Note>, _ note: Entry<Note>?, _ count: Int) throws -> [Entry<Note>] {
    guard let note else { return try query.limit(count).entries() }
    return try query.after(query.cursor(at: note)).limit(count).entries()
  }
}

/// The part of a list that is on the screen, and what is selected in it.
struct NoteWindow {
  private(set) var list: NoteList
  private(set) var shown: [Entry<Note>] = []
  private(set) var selected = 0

  init(_ list: NoteList, rows: Int) throws {
    self.list = list
    try show(rows: rows)
  }

  /// What is selected; nil where there is nothing.
  var current: Entry<Note>? { shown.indices.contains(selected) ? shown[selected] : nil }

  /// Shows so many rows.
  mutating func show(rows: Int) throws {
    let surplus = max(0, min(shown.count - rows, selected))
    shown = Array(shown.dropFirst(surplus).prefix(rows))
    selected -= surplus
    if shown.count < rows { shown += try list.older(than: shown.last, rows - shown.count) }
    guard let first = shown.first, shown.count < rows else { return }
    let newer = try list.newer(than: first, rows - shown.count)
    shown = newer + shown
    selected += newer.count
  }

  /// Moves the selection, and where it leaves the screen, what is shown.
  mutating func move(_ count: Int) throws {
    let rows = shown.count
    selected += count
    if selected >= rows, let last = shown.last {
      let older = try list.older(than: last, selected - rows + 1)
      shown = (shown + older).suffix(rows)
      selected = rows - 1
    } else if selected < 0, let first = shown.first {
      shown = Array((try list.newer(than: first, -selected) + shown).prefix(rows))
      selected = 0
    }
  }

  /// Shows the next page, or the one before; what is selected keeps its row.
  mutating func turn(forward: Bool) throws {
    let rows = shown.count
    let page = forward ? try list.older(than: shown.last, rows) : try list.newer(than: shown.first, rows)
    if page.count < rows { selected = forward ? rows - 1 : 0 }
    shown = forward ? (shown + page).suffix(rows) : Array((page + shown).prefix(rows))
  }

  mutating func moveToEnd() throws {
    shown = try list.newer(than: nil, shown.count)
    selected = max(0, shown.count - 1)
  }

  /// Takes what is selected out of the list.
  mutating func removeCurrent() throws {
    let rows = shown.count
    guard let entry = current else { return }
    shown.remove(at: selected)
    list.found?.removeAll { $0.id == entry.id }
    list.count = list.count.map { $0 - 1 }
    try show(rows: rows)
    selected = max(0, min(selected, shown.count - 1))
  }
}
