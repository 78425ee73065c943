// Notes, newest first, of which no more are read than are shown.

import Notelog
import TerminalUI

/// All notes, or those that a search has found.
struct NoteList: LongList {
  /// Up to how many are kept when they are found.
  static let few = 2000

  let notes: Query<Note>
  /// How many there are; nil where they are too many to be counted while somebody types.
  var count: Int?
  /// All of them, where they are few.
  var found: [Entry<Note>]?

  func items(after note: Entry<Note>?, atMost count: Int) throws -> [Entry<Note>] {
    if let found {
      return Array(found.drop { $0.id != note?.id ?? $0.id }.dropFirst(note == nil ? 0 : 1).prefix(count))
    }
    return try next(notes.sorted(by: \.time, .descending), note, count)
  }

  func items(before note: Entry<Note>?, atMost count: Int) throws -> [Entry<Note>] {
    if let found { return found.prefix { $0.id != note?.id }.suffix(count) }
    return try next(notes.sorted(by: \.time), note, count).reversed()
  }

  mutating func remove(_ note: Entry<Note>) {
    found?.removeAll { $0.id == note.id }
    count = count.map { $0 - 1 }
  }

  private func next(_ query: Query<Note>, _ note: Entry<Note>?, _ count: Int) throws -> [Entry<Note>] {
    guard let note else { return try query.limit(count).entries() }
    return try query.after(query.cursor(at: note)).limit(count).entries()
  }
}
