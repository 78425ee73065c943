// What a query finds, as an object that views observe.

import NotelogBase
public import Observation

/// What a query finds, kept up to date on the main actor: for views, which observe it.
///
/// ```swift
/// @State private var notes = LiveQuery(store.query(Note.self).sorted(by: \.time, .descending))
///
/// var body: some View {
///   List(notes.entries) { note in Text((try? note.title) ?? "locked") }
/// }
/// ```
///
/// Changes that come faster than they are shown are put together, in no more memory than the query's answer
/// takes twice. Nothing sealed is opened before a view opens it. Views are told when the store is unlocked, as
/// they can show more then. It lasts until nobody holds it any more, or
/// the store is closed.
@MainActor @Observable
public final class LiveQuery<R: Record> {
  /// The records found; empty until the query was first asked.
  public private(set) var entries: [Entry<R>] = []
  /// What the last change was; nil until the query was first asked.
  public private(set) var lastUpdate: QueryUpdate<R>?
  /// Why the query could not be answered when it was last asked: entries are as they were before.
  public private(set) var error: (any Error)?

  @ObservationIgnored let news: ChangeSubscription
  @ObservationIgnored private var task: Task<Void, Never>?

  /// Begins to ask a query, and asks it again when its answer may have changed.
  public init(_ query: Query<R>) {
    var updates = QueryUpdates(query: query).makeAsyncIterator()
    news = updates.news
    task = Task { [weak self] in
      while !Task.isCancelled {
        do {
          guard let update = try await updates.next() else { return }
          self?.show(update)
        } catch { self?.error = error }
      }
    }
  }

  /// Asks the query again, and tells views of the answer even where it is the same: after the store was
  /// locked, for instance, so that they show no longer what they had opened.
  public func refresh() { news.wake() }

  deinit { task?.cancel() }

  private func show(_ update: QueryUpdate<R>) {
    error = nil
    entries = update.entries
    lastUpdate = update
  }
}

// MARK: - What a query finds, and how that differs from what it found before.

/// What a query finds at one moment, and what has changed since the last.
///
/// Entries are unopened: what is sealed is opened when it is shown, and only that.
public struct QueryUpdate<R: Record>: Sendable {
  /// The records found, in the query's order; in that of their ids where the query has none.
  public let entries: [Entry<R>]
  /// The records that came, in their new order.
  public let inserted: [RecordID]
  /// The records that went, in their old order.
  public let removed: [RecordID]
  /// Of those that stayed, the fewest that changed their places among them.
  public let moved: [RecordID]
  /// Those that stayed and were written since.
  public let changed: [RecordID]

  /// Whether everything is as it was.
  public var isEmpty: Bool { inserted.isEmpty && removed.isEmpty && moved.isEmpty && changed.isEmpty }

  init(_ entries: [Entry<R>], since old: [(id: RecordID, revision: UInt64)]) {
    self.entries = entries
    let placeByID = Dictionary(uniqueKeysWithValues: old.enumerated().map { ($1.id, $0) })
    let present = Set(entries.map(\.id))
    var (inserted, changed, stayed): ([RecordID], [RecordID], [(id: RecordID, place: Int)]) = ([], [], [])
    for entry in entries {
      guard let place = placeByID[entry.id] else {
        inserted.append(entry.id)
        continue
      }
      stayed.append((entry.id, place))
      if old[place].revision != entry.revision { changed.append(entry.id) }
    }
    self.inserted = inserted
    self.changed = changed
    removed = old.map(\.id).filter { !present.contains($0) }
    let inPlace = longestAscent(stayed.map(\.place))
    moved = stayed.indices.filter { !inPlace.contains($0) }.map { stayed[$0].id }
  }
}

/// The places of a longest ascending part of some numbers, none of which is there twice.
///
/// - Complexity: O(*n* log *n*).
private func longestAscent(_ numbers: [Int]) -> Set<Int> {
  // For each length, the place where the lowest number stands that an ascent of this length ends with.
  var ends: [Int] = []
  var previous = [Int?](repeating: nil, count: numbers.count)
  for (place, number) in numbers.enumerated() {
    let length = ends.firstPlace { numbers[$0] >= number }
    previous[place] = length == 0 ? nil : ends[length - 1]
    if length == ends.count { ends.append(place) } else { ends[length] = place }
  }
  var ascent: Set<Int> = []
  var place = ends.last
  while let current = place {
    ascent.insert(current)
    place = previous[current]
  }
  return ascent
}
