// Observing the records of a store.

extension Store {
  /// The changes of a type's records from now on, commit by commit.
  public func changes<R: Record>(of type: R.Type) -> Changes {
    Changes(observe(ChangeSubscription(R.schema.description.allNames, nil)))
  }

  /// The changes of one record from now on, commit by commit.
  public func changes<R: Record>(of type: R.Type, _ id: RecordID) -> Changes {
    Changes(observe(ChangeSubscription(R.schema.description.allNames, id)))
  }

  /// The changes of all records from now on, of whatever collection, commit by commit.
  public func changes() -> Changes { Changes(observe(ChangeSubscription(nil, nil))) }

  /// Tells that something of a type has changed since it was last looked: in no more memory than one commit takes.
  func news<R: Record>(of type: R.Type) -> ChangeSubscription {
    observe(ChangeSubscription(R.schema.description.allNames, nil, waitingCountMax: 1))
  }

  /// Has changes delivered from now on.
  @discardableResult
  func observe(_ subscription: ChangeSubscription) -> ChangeSubscription {
    hub.add(subscription, journal.watch)
    if journal.isLeased || !journal.holdsLock { startCompanion(idle: nil, follows: true) }
    return subscription
  }
}
