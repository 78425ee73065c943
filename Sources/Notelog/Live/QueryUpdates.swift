// A query that is asked again whenever its answer may have changed.

/// What a query finds, each time that changes: what `Query.updates()` returns.
struct QueryUpdates<R: Record>: AsyncSequence, Sendable {
  let query: Query<R>

  /// Asks the query again and again.
  struct Iterator: AsyncIteratorProtocol, Sendable {
    private let query: Query<R>
    private var answers: ValueUpdates<[Entry<R>]>.Iterator
    /// The records as they were shown.
    private var shown: [(id: RecordID, revision: UInt64)] = []
    /// Whether the last question was answered.
    private var isAnswered = false

    var news: ChangeSubscription { answers.news }

    init(_ query: Query<R>) {
      self.query = query
      let names = R.schema.description.allNames
      answers = ValueUpdates(store: query.store, names: names) {
        let entries = try query.entries()
        // By id where no order was asked for, so that the same answer looks the same.
        return query.question.keys.isEmpty ? entries.sorted { $0.id < $1.id } : entries
      }.makeAsyncIterator()
    }

    /// What the query finds, once that has changed; nil when the store is closed, or the task cancelled.
    ///
    /// - Throws: What asking the query throws.
    mutating func next() async throws -> QueryUpdate<R>? {
      let wasAnswered = isAnswered
      // What is as it was at one moment does not change.
      if wasAnswered, query.moment != nil { return nil }
      isAnswered = false
      while let entries = try await answers.next() {
        let update = QueryUpdate(entries, since: shown)
        if wasAnswered, !answers.isWoken, update.isEmpty { continue }
        isAnswered = true
        shown = entries.map { ($0.id, $0.revision) }
        return update
      }
      return nil
    }
  }

  /// Begins to observe.
  func makeAsyncIterator() -> Iterator { Iterator(query) }
}

extension Query where R: Record {
  /// What a query finds, now, whenever that changes, and each time that the store is unlocked.
  ///
  /// ```swift
  /// for try await update in store.query(Note.self).sorted(by: \.time, .descending).limit(50).updates() {
  ///   show(update.entries)
  /// }
  /// ```
  ///
  /// The first element comes at once. An observer that takes its time is spared what lay in between: the next
  /// element is the newest state, with one difference from what it saw last, and nothing is kept for it but
  /// that. The query is asked again where records of its type were written, by this process or, where it
  /// doesn't hold the store's lock, by others; what didn't change its answer is not told. When the store is
  /// unlocked the answer is told again, as its entries may open now.
  ///
  /// An error, such as `locked` where a condition needs a key, is thrown by `next()` and does not end the
  /// sequence: it goes on with the next change, or once the store is unlocked. It ends when the store is
  /// closed. Each iterator observes by itself, from when it was made.
  public func updates() -> some AsyncSequence<QueryUpdate<R>, any Error> & Sendable {
    QueryUpdates(query: self)
  }
}
