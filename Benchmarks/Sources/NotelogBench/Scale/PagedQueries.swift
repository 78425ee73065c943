// What a page of a query by two keys takes: a part of `notelog-bench scale`.
import CPeers
import Foundation
import Notelog

/// A note in a folder: many of them are in one.
private struct FiledNote: Record {
  var id = RecordID()
  var folder = 0
  var time = Date(timeIntervalSince1970: 0)
  var title = ""
  static let schema = Schema<FiledNote>("filed") {
    Plain("folder", \.folder, indexed: true)
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
  }
}

/// A store whose notes are sorted by folder, the newest of each first: pages of fifty, each behind the cursor
/// of the one before it.
struct PagedQueries {
  private static let batch = 1000
  private static let limit = 50
  private static let folderCount = 20
  /// How many pages are measured from each place on.
  private static let pageCount = 100

  let count: Int
  let credential: Credential

  func run(at path: String, _ report: (Figure) -> Void) throws {
    var store = try Store.create(at: path, unlocking: credential)
    for start in stride(from: 0, to: count, by: Self.batch) {
      let notes = (start..<min(start + Self.batch, count)).lazy.map { number in
        FiledNote(
          id: NumberedNote.id(number), folder: number % Self.folderCount,
          time: Date(timeIntervalSince1970: Double(number &* 7_919 % count)), title: "note \(number)")
      }
      try store.putAll(notes, .flushed)
    }
    let start = nowNanoseconds()
    guard try query(store).entries().count == min(Self.limit, count) else { throw Failure("no whole page") }
    report(figure("first page by two keys, index made", Double(nowNanoseconds() - start) / 1e6))
    try store.close()
    store = try Store.open(at: path, unlocking: credential)
    let opened = nowNanoseconds()
    _ = try query(store).entries()
    report(figure("first page by two keys, index stored", Double(nowNanoseconds() - opened) / 1e6))
    for (place, folder) in [("first", 0), ("middle", Self.folderCount / 2), ("last", Self.folderCount - 1)] {
      let times = try pages(store, from: folder).sorted()
      report(figure("page of 50 by two keys, \(place) folder, median", times[times.count / 2]))
      report(figure("page of 50 by two keys, \(place) folder, slowest", times[times.count - 1]))
    }
    try store.close()
    try FileManager.default.removeItem(atPath: path)
  }

  private func query(_ store: Store) -> Query<FiledNote> {
    store.query(FiledNote.self).sorted(by: \.folder).sorted(by: \.time, .descending).limit(Self.limit)
  }

  /// How long each of some pages took, from the middle of a folder on.
  private func pages(_ store: Store, from folder: Int) throws -> [Double] {
    let query = query(store)
    let half = Date(timeIntervalSince1970: Double(count) / 2)
    guard
      var last = try query.where(\.folder, is: folder).where(\.time, in: ...half).limit(1).entries().first
    else { throw Failure("a folder is empty") }
    var times: [Double] = []
    for _ in 0..<Self.pageCount {
      let start = nowNanoseconds()
      let page = try query.after(query.cursor(at: last)).entries()
      times.append(Double(nowNanoseconds() - start) / 1e6)
      guard let next = page.last else { break }
      last = next
    }
    return times
  }

  private func figure(_ workload: String, _ value: Double) -> Figure {
    Figure(engine: "notelog", workload: "\(count) notes: " + workload, value: value, unit: "ms")
  }
}
