// Observing the records of a store.

import NotelogJournal

extension Store {
  /// The changes of a type's records from now on, commit by commit.
  public func changes<R: Record>(of type: R.Type) -> Changes { changes(R.schema.description, nil) }

  /// The changes of one record from now on, commit by commit.
  public func changes<R: Record>(of type: R.Type, _ id: RecordID) -> Changes {
    changes(R.schema.description, id)
  }

  /// The changes of all records from now on, of whatever collection, commit by commit.
  public func changes() -> Changes {
    let subscription = ChangeSubscription(nil, nil)
    observe(subscription)
    return Changes(subscription)
  }

  private func changes(_ declared: CollectionDescription, _ id: RecordID?) -> Changes {
    let subscription = ChangeSubscription([declared.name] + declared.formerNames, id)
    observe(subscription)
    return Changes(subscription)
  }

  /// Tells that something of a type has changed since it was last looked: in no more memory than one commit takes.
  func news<R: Record>(of type: R.Type) -> ChangeSubscription {
    let declared = R.schema.description
    let subscription = ChangeSubscription(
      [declared.name] + declared.formerNames, nil, waitingCountMax: 1)
    observe(subscription)
    return subscription
  }

  /// Has changes delivered from now on.
  func observe(_ subscription: ChangeSubscription) {
    hub.add(subscription, journal.watch)
    if journal.isLeased || !journal.holdsLock { startCompanion(idle: nil, follows: true) }
  }
}
