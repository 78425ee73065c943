// What somebody reads of a store, read again whenever it may have changed.

extension Store {
  /// What a closure reads of a moment of the store, now, after each commit, and each time that the store is
  /// unlocked.
  ///
  /// ```swift
  /// for try await screen in store.updates({ moment in
  ///   let account = try moment.get(Account.self, id)
  ///   return (account, try moment.query(Login.self).where(\.account, is: id).entries())
  /// }) { show(screen) }
  /// ```
  ///
  /// What it reads is of one moment, whatever collections it comes from. Observers that take their time are
  /// spared what lay in between. Errors are thrown by `next()`, and do not end the sequence. It ends when the
  /// store is closed. Each iterator observes by itself, from when it was made.
  ///
  /// - Parameter read: Reads the value. It is called on no actor.
  /// - Returns: The values.
  public func updates<Value: Sendable>(
    _ read: @escaping @Sendable (StoreSnapshot) throws -> Value
  ) -> some AsyncSequence<Value, any Error> & Sendable {
    ValueUpdates(store: self) { try read(self.snapshot()) }
  }
}

/// What a closure reads, each time that it may have changed.
struct ValueUpdates<Value: Sendable>: AsyncSequence, Sendable {
  let store: Store
  /// The names of the collection that is read; nil where it may be any.
  var names: [String]?
  let read: @Sendable () throws -> Value

  /// Reads again and again.
  struct Iterator: AsyncIteratorProtocol, Sendable {
    private let read: @Sendable () throws -> Value
    let news: ChangeSubscription
    private var isBegun = false
    /// Whether it is read anew because somebody asked for that, not because something has changed.
    private(set) var isWoken = false

    init(_ updates: ValueUpdates) {
      read = updates.read
      news = updates.store.observe(ChangeSubscription(updates.names, nil, rereads: true))
    }

    /// What is read, once something has changed; nil when the store is closed, or the task cancelled.
    ///
    /// - Throws: What reading throws.
    mutating func next() async throws -> Value? {
      if isBegun {
        guard let changes = await news.next() else { return nil }
        isWoken = changes.revisions.lowerBound == 0
      }
      isBegun = true
      let read = read
      do { return try await offPool { () throws in try read() } } catch let error as NotelogError
        where error.code == .closed
      {
        // The store was closed between the news and the question.
        return nil
      }
    }
  }

  /// Begins to observe.
  func makeAsyncIterator() -> Iterator { Iterator(self) }
}
