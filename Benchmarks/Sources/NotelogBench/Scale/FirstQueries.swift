// What the first query by an index takes after an opening: a part of `notelog-bench scale`.
import CPeers
import Foundation
import Notelog

/// A store whose notes have an indexed time: the newest of them, of an index that is made and of one that is
/// stored.
struct FirstQueries {
  private static let batch = 1000
  private static let limit = 50

  let count: Int
  let credential: Credential

  func run(at path: String, _ report: (Figure) -> Void) throws {
    let store = try Store.create(at: path, unlocking: credential)
    for start in stride(from: 0, to: count, by: Self.batch) {
      let notes = (start..<min(start + Self.batch, count)).lazy.map { number in
        // In no order, so that the index has to be sorted.
        let time = Date(timeIntervalSince1970: Double(number &* 7_919 % count))
        return TimedNote(id: NumberedNote.id(number), time: time, title: "note \(number)", body: "")
      }
      try store.putAll(notes, .flushed)
    }
    try store.close()
    report(figure("first newest-50, index made", try median { try measure(path, closes: false) }))
    let closing = try measure(path, closes: true)
    report(figure("first newest-50, made and stored", closing))
    report(figure("first newest-50, index stored", try median { try measure(path, closes: false) }))
    try FileManager.default.removeItem(atPath: path)
  }

  private func figure(_ workload: String, _ value: Double) -> Figure {
    Figure(engine: "notelog", workload: "\(count) notes: " + workload, value: value, unit: "ms")
  }

  /// Opens the store and asks for the newest notes: how long the query took, with the closing that stores the
  /// index or without.
  private func measure(_ path: String, closes: Bool) throws -> Double {
    var options = Store.Options()
    // Who only reads stores nothing.
    options.isReadOnly = !closes
    let store = try Store.open(at: path, unlocking: credential, options: options)
    let start = nowNanoseconds()
    let found = try store.query(TimedNote.self).sorted(by: \.time, .descending).limit(Self.limit).entries()
    var end = nowNanoseconds()
    guard found.count == min(Self.limit, count) else { throw Failure("\(found.count) notes were found") }
    try store.close()
    if closes { end = nowNanoseconds() }
    return Double(end - start) / 1e6
  }

  private func median(_ body: () throws -> Double) rethrows -> Double {
    var values: [Double] = []
    for _ in 0..<5 { values.append(try body()) }
    return values.sorted()[2]
  }
}
