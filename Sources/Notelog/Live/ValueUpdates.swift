// What somebody reads of a store, read again whenever it may have changed.

extension Store {
  /// What a closure reads of a moment of the store, now and after each commit.
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
    ValueUpdates(store: self, read: read)
  }
}

private struct ValueUpdates<Value: Sendable>: AsyncSequence, Sendable {
  let store: Store
  let read: @Sendable (StoreSnapshot) throws -> Value

  struct Iterator: AsyncIteratorProtocol, Sendable {
    let updates: ValueUpdates
    let news: ChangeSubscription
    private var isBegun = false

    init(_ updates: ValueUpdates) {
      self.updates = updates
      news = updates.store.observe(ChangeSubscription(nil, nil, waitingCountMax: 1))
    }

    mutating func next() async throws -> Value? {
      if isBegun, await news.next() == nil { return nil }
      isBegun = true
      let (store, read) = (updates.store, updates.read)
      do { return try await offPool { () throws in try read(store.snapshot()) } } catch let error
        as NotelogError where error.code == .closed
      {
        // The store was closed between the news and the question.
        return nil
      }
    }
  }

  func makeAsyncIterator() -> Iterator { Iterator(self) }
}
