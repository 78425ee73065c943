// Rows out of the old database, records into the new store, and both compared.

import Foundation
import Notelog

/// A note as SecureNote has it.
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

  /// What is compared.
  var bytes: [UInt8] { Array("\(id)\n\(time.timeIntervalSinceReferenceDate)\n\(title)\n\(body)\n".utf8) }
}

extension RecordID {
  /// The same row has the same id each time, so that a move that was stopped goes on where it was.
  init(row: Int) {
    let place = withUnsafeBytes(of: UInt64(row).bigEndian) { Array($0) }
    let b = Array("ZNOTE row".utf8.prefix(8)) + place
    self.init(
      UUID(
        uuid: (
          b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
        )))
  }
}

struct Move {
  let database: Database
  let store: Store
  let seal: OldSeal

  struct Summary: Equatable {
    var movedCount = 0
    var count = 0
    /// Of what was opened the old way, and of what was read from the store.
    var old = Digest()
    var new = Digest()
  }

  /// Moves what is not there yet, a thousand rows a time, and compares all.
  func run() throws -> Summary {
    var summary = Summary()
    var last = Int.min
    while true {
      let rows = try database.rows(after: last, limit: 1000)
      guard let end = rows.last else { break }
      last = end.number
      let notes = try opened(rows)
      let isThere = try store.getMany(Note.self, notes.map(\.id)).map { $0 != nil }
      let missing = zip(notes, isThere).filter { !$0.1 }.map(\.0)
      try store.putAll(missing, .flushed)
      summary.movedCount += missing.count
      summary.count += notes.count
      for note in notes { summary.old.add(note.bytes) }
      for entry in try store.getMany(Note.self, notes.map(\.id)) {
        summary.new.add(try entry?.record().bytes ?? [])
      }
    }
    // One sync for all of it.
    try store.write(.durable) { _ in }
    return summary
  }

  /// Opens rows on all cores: making a key of the password is most of the work.
  private func opened(_ rows: [OldRow]) throws -> [Note] {
    let seal = seal
    let notes = inParallel(rows) { row -> Note? in
      guard let title = seal.open(row.title).flatMap({ String(validating: $0, as: UTF8.self) }),
        let body = seal.open(row.body).flatMap({ String(validating: $0, as: UTF8.self) })
      else { return nil }
      let time = Date(timeIntervalSinceReferenceDate: row.time)
      return Note(id: RecordID(row: row.number), time: time, title: title, body: body)
    }
    return try zip(rows, notes).map { row, note in
      guard let note else {
        throw MoveError(message: "Row \(row.number) does not open: is the password right?")
      }
      return note
    }
  }
}

/// Rows sealed the old way, to try it with.
func sampleRows(_ count: Int, _ seal: OldSeal) -> [OldRow] {
  inParallel(Array(1...count)) { number in
    OldRow(
      number: number, time: 300_000_000 + Double(number) * 61.5,
      title: seal.seal(Array("Note \(number) 漢字".utf8)) ?? [],
      body: seal.seal(Array("The text of note \(number). ".utf8) + Array("More of it. ".utf8)) ?? [])
  }
}

/// Makes something of each value, several at a time, in their order.
private func inParallel<Value: Sendable, Result: Sendable>(
  _ values: [Value], _ make: @Sendable (Value) -> Result
) -> [Result] {
  let partCount = ProcessInfo.processInfo.activeProcessorCount
  nonisolated(unsafe) var parts = [[Result]](repeating: [], count: partCount)
  let lock = NSLock()
  DispatchQueue.concurrentPerform(iterations: partCount) { part in
    let range = (values.count * part / partCount)..<(values.count * (part + 1) / partCount)
    let made = values[range].map(make)
    lock.withLock { parts[part] = made }
  }
  return parts.flatMap(\.self)
}
