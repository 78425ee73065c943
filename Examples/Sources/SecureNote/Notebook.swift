// Everything that SecureNote asks of its store.

import Foundation
import Notelog

/// A note: when it was written stays in the clear, what it says is sealed.
struct Note: Record {
  var id = RecordID()
  var time = Date()
  /// Deleted, and not yet forgotten: that can be undone until the notes are locked.
  var isDeleted = false
  var title = ""
  var body = ""
  static let schema = Schema<Note>("note") {
    Plain("time", \.time, indexed: true)
    Plain("isDeleted", \.isDeleted, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body, compressed: true)
  }
}

/// The notes, and the keys that open them for as long as it is not locked.
final class Notebook {
  let store: Store
  /// The note that was deleted last, as long as that can be undone.
  private(set) var lastDeleted: RecordID?

  /// Opens the notes locked: what stays in the clear can be listed.
  ///
  /// - Returns: Nil where there are none yet.
  init?(at path: String) throws {
    var options = Store.Options()
    options.compaction = .automatic
    options.recordTypes = [Note.self]
    do { store = try Store.open(at: path, options: options) } catch let error as NotelogError
      where error.code == .notFound
    { return nil }
  }

  /// Makes a store; the first password typed is the password.
  init(creatingAt path: String, password: String) throws {
    var options = Store.Options()
    options.compaction = .automatic
    store = try Store.create(at: path, unlocking: .password(password), options: options) { store in
      try store.putAll([Note(title: "Welcome", body: "Type to search, press Ctrl-N for a new note.")])
    }
  }

  var isLocked: Bool { !store.isUnlocked }

  /// - Returns: Whether the password is right.
  func unlock(_ password: String) throws -> Bool {
    do { try store.unlock(.password(password)) } catch let error as NotelogError
      where error.code == .wrongPassword || error.code == .invalidArgument
    { return false }
    return true
  }

  /// Wipes the keys, and forgets what was deleted.
  func lock() throws {
    store.lock(.everything)
    lastDeleted = nil
    _ = try store.write { tx in try tx.deleteAll(Note.self, where: .field(\.isDeleted, is: true)) }
  }

  func changePassword(from old: String, to new: String) throws -> Bool {
    do { try store.changeCredential(.password(old), to: .password(new)) } catch let error as NotelogError
      where error.code == .wrongPassword || error.code == .invalidArgument
    { return false }
    return true
  }

  /// So many notes are found at most: whoever looks through more types another letter.
  static let foundMax = 500

  /// The ids of notes in whose title or body a text is, newest first; of all where it is empty.
  func notes(containing text: String) throws -> [RecordID] {
    var query = store.query(Note.self).where(\.isDeleted, is: false)
    if !text.isEmpty {
      // As typed, and with a capital: 'tea' finds 'Tea', too.
      let capital = text.prefix(1).uppercased() + text.dropFirst()
      query = query.where(
        .field(\.title, contains: text) || .field(\.body, contains: text)
          || .field(\.title, contains: capital) || .field(\.body, contains: capital))
    }
    if !text.isEmpty { query = query.limit(Self.foundMax) }
    return try query.sorted(by: \.time, .descending).parallel(2).entries().map(\.id)
  }

  /// The notes of a page: their times, and their titles unless they are locked.
  func page(_ ids: some Collection<RecordID>) throws -> [(time: Date, title: String)] {
    try store.getMany(Note.self, Array(ids)).compactMap { entry in
      guard let entry else { return nil }
      return (try entry.time, isLocked ? "••••••••" : try entry.title)
    }
  }

  func note(_ id: RecordID) throws -> Note? { try store.get(Note.self, id)?.record() }

  func save(_ note: Note) throws { try store.write { tx in try tx.put(note) } }

  func delete(_ id: RecordID) throws {
    try store.write { tx in try tx.update(Note.self, id) { $0.set(\.isDeleted, true) } }
    lastDeleted = id
  }

  func undoDeletion() throws -> Bool {
    guard let id = lastDeleted else { return false }
    try store.write { tx in try tx.update(Note.self, id) { $0.set(\.isDeleted, false) } }
    lastDeleted = nil
    return true
  }

  /// Many notes of chance words, to see how a full notebook feels.
  func fill(_ count: Int) throws {
    let words = [
      "tea", "river", "Lisbon", "invoice", "garden", "violin", "number", "friday", "glacier", "recipe", "漢字",
      "☕️",
    ]
    for start in stride(from: 0, to: count, by: 1000) {
      let notes = (start..<min(start + 1000, count)).map { number in
        Note(
          time: Date(timeIntervalSinceReferenceDate: 700_000_000 + Double(number) * 60),
          title: "\((words.randomElement() ?? "")) \(number)",
          body: (0..<30).map { _ in (words.randomElement() ?? "") }.joined(separator: " "))
      }
      try store.putAll(notes, .buffered)
    }
  }
}
