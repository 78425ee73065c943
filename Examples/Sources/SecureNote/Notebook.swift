// What SecureNote keeps, and everything that it asks of its store.

import Foundation
import Notelog

/// A note: when it was written stays in the clear, what it says is sealed.
struct Note: Record {
  var id = RecordID()
  var time = Date()
  var title = ""
  var body = ""
  static let schema = Schema<Note>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title, padded: true)
    Sealed("body", \.body, padded: true)
  }
}

/// The notes, and for as long as it is unlocked the keys that open them.
struct Notebook {
  let store: Store
  /// What was deleted since it was unlocked, the last at the end.
  private var deleted: [Note] = []

  private static let options = {
    var options = Store.Options()
    options.compaction = .automatic
    options.recordTypes = [Note.self]
    return options
  }()

  /// Opens the notes locked: how many there are, and of when, is in the clear.
  ///
  /// - Returns: Nil where there are none yet.
  init?(at path: String) throws {
    do { store = try Store.open(at: path, options: Self.options) } catch let error as NotelogError
      where error.code == .notFound
    { return nil }
  }

  /// Makes a store; the first password given is the password.
  init(creatingAt path: String, password: String) throws {
    store = try Store.create(at: path, unlocking: .password(password), options: Self.options)
  }

  var isLocked: Bool { !store.isUnlocked }

  mutating func lock() {
    store.lock(.everything)
    deleted = []
  }

  /// The notes in which a text is; all where it is empty.
  func list(containing text: String) throws -> NoteList {
    let query = store.query(Note.self)
    guard !text.isEmpty else { return NoteList(notes: query, count: try query.count()) }
    let found = query.where(
      .field(\.title, contains: text, ignoringCaseAndAccents: true)
        || .field(\.body, contains: text, ignoringCaseAndAccents: true)
    ).parallel(ProcessInfo.processInfo.activeProcessorCount)
    // Few are found fastest in the order in which they lie on the disk, many in the order in which they are
    // shown.
    let few = try found.limit(NoteList.few + 1).entries()
    if few.count > NoteList.few { return NoteList(notes: found) }
    return NoteList(notes: found, count: few.count, found: try few.sorted { try $0.time > $1.time })
  }

  func save(_ note: Note) throws { try store.write { tx in try tx.put(note) } }

  mutating func delete(_ note: Note) throws {
    try store.write { tx in try tx.delete(Note.self, note.id) }
    deleted.append(note)
  }

  /// Brings back what was deleted last; nil where there is nothing.
  mutating func undoDeletion() throws -> Note? {
    guard let note = deleted.last else { return nil }
    try save(note)
    return deleted.removeLast()
  }

  /// Many notes of chance words, to see how a full notebook feels.
  func fill(_ count: Int) throws {
    let words = [
      "tea", "river", "Lisbon", "invoice", "garden", "violin", "number", "friday", "glacier", "漢字", "☕️",
    ]
    func word() -> String { words.randomElement() ?? "" }
    for start in stride(from: 0, to: count, by: 1000) {
      let notes = (start..<min(start + 1000, count)).map { number in
        Note(
          time: Date(timeIntervalSinceReferenceDate: 700_000_000 + Double(number) * 60),
          title: "\(word()) \(number)", body: (0..<30).map { _ in word() }.joined(separator: " "))
      }
      try store.putAll(notes, .flushed)
    }
  }
}
