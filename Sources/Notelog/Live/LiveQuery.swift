// What a query finds, as an object that views observe.

public import Observation
import NotelogBase

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
/// Changes that come faster than they are shown are put together, in no more memory than the query's answer takes twice. Nothing sealed is opened
/// before a view opens it. It lasts until nobody holds it any more, or the store is closed.
@MainActor @Observable
public final class LiveQuery<R: Record> {
  /// The records found; empty until the query was first asked.
  public private(set) var entries: [Entry<R>] = []
  /// What the last change was; nil until the query was first asked.
  public private(set) var lastUpdate: QueryUpdate<R>?
  /// Why the query could not be answered when it was last asked: entries are as they were before.
  public private(set) var error: (any Error)?

  @ObservationIgnored let following: Following

  /// Begins to ask a query, and asks it again when its answer may have changed.
  public init(_ query: Query<R>) {
    var updates = query.updates().makeAsyncIterator()
    following = Following(updates.news)
    following.task = Task { [weak self] in
      while !Task.isCancelled {
        do {
          guard let update = try await updates.next() else { return }
          self?.show(update)
        } catch {
          self?.error = error
        }
      }
    }
  }

  /// Asks the query again: after the store was unlocked, for instance, where a condition needs a key.
  public func refresh() { following.news.wake() }

  private func show(_ update: QueryUpdate<R>) {
    error = nil
    entries = update.entries
    lastUpdate = update
  }
}

/// The task of a live query, which ends with it.
@MainActor
final class Following {
  let news: ChangeSubscription
  var task: Task<Void, Never>?

  init(_ news: ChangeSubscription) { self.news = news }

  isolated deinit { task?.cancel() }
}
