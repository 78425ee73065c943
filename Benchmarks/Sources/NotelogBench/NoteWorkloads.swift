// The note workloads, one after another on one store.
import Foundation
import Notelog

struct NoteWorkloads {
  let dataset: Dataset
  let path: String
  /// A raw key, so that opening measures the store and not scrypt.
  let key = Credential.key((0..<32).map { _ in UInt8.random(in: 0...255) })

  init(_ dataset: Dataset, folder: URL) {
    self.dataset = dataset
    path = folder.path
  }

  /// Runs all, and hands each figure on as soon as it is there.
  func run(_ report: (Figure) -> Void) throws {
    let notes = dataset.notes
    var store = try Store.create(at: path, unlocking: key)
    report(
      try .rate("bulk-insert", "notes", notes.count) {
        for start in stride(from: 0, to: notes.count, by: 1000) {
          try store.write(.flushed) { tx in
            for note in notes[start..<min(start + 1000, notes.count)] { try tx.put(note) }
          }
        }
      })

    let durable = Dataset(count: min(2000, notes.count), seed: 2).notes
    report(
      try .rate("durable-insert", "notes", durable.count) {
        for note in durable { try store.write { tx in try tx.put(note) } }
      })

    var random = SplitMix(state: 3)
    let ids = (0..<notes.count).map { _ in notes[Int.random(in: notes.indices, using: &random)].id }
    report(
      try .rate("random-title", "titles", ids.count) {
        for id in ids { _ = try store.get(Note.self, id)?.title }
      })
    report(
      try .rate("random-note", "notes", ids.count) {
        for id in ids { _ = try store.get(Note.self, id)?.record() }
      })

    var bytes = 0
    report(
      try .rate("scan-titles", "titles", notes.count + durable.count) {
        for entry in try store.query(Note.self).entries() { bytes += try entry.title.utf8.count }
      })
    precondition(bytes > 0, "titles were read")

    try store.close()
    let clock = ContinuousClock()
    let start = clock.now
    store = try Store.open(at: path, unlocking: key)
    _ = try store.get(Note.self, notes[0].id)?.title
    let time = (clock.now - start).components
    report(
      Figure(
        workload: "reopen-first-read", value: Double(time.seconds) * 1e3 + Double(time.attoseconds) / 1e15,
        unit: "ms"))
    try store.close()
  }
}
