// Changes of an app's records that a store goes through once, in their order (FORMAT.md 9.2).

import NotelogBase

/// A change of an app's records that a store goes through once.
///
/// ```swift
/// try store.migrate([
///   Migration("tasks have lists") { tx in
///     let list = List(name: "Inbox")
///     try tx.put(list)
///     try tx.updateAll(Task.self) { $0.set(\.list, list.id) }
///   },
///   Migration("domains in lower case", of: Account.self) { account in
///     account.set(\.domain, try account.domain.lowercased())
///   },
/// ])
/// ```
///
/// Its name is kept in the store, sealed under the key ``defaultKeyName``.
public struct Migration: Sendable {
  /// Its name, by which the store remembers it.
  public let name: String
  fileprivate let work: Work

  fileprivate enum Work: Sendable {
    case whole(@Sendable (inout Transaction) throws -> Void)
    case records(
      ids: @Sendable (Store) throws -> [RecordID],
      change: @Sendable (RecordID, inout Transaction) throws -> Bool)
  }

  /// A change that is made in one transaction, across any collections.
  ///
  /// - Parameters:
  ///   - name: Its name, which stays what it is: at most 200 bytes of UTF-8, without control characters.
  ///   - body: What is done. It may be called again where its result could not be written. What it writes is
  ///     one transaction, with its limit (``Limits/transactionBytes``).
  public init(_ name: String, _ body: @escaping @Sendable (inout Transaction) throws -> Void) {
    (self.name, work) = (name, .whole(body))
  }

  /// A change of each record of a type, in transactions of some hundred: there may be any number of them.
  ///
  /// Each is changed once, also where the work is interrupted and goes on later. A record that another writer
  /// adds between an interruption and the rest may be changed as well: let the closure leave alone what is
  /// in its new form, or have nobody write before ``Store/migrate(_:)-([Migration])`` returns.
  ///
  /// - Parameters:
  ///   - name: Its name, which stays what it is: at most 200 bytes of UTF-8, without control characters.
  ///   - type: The record type.
  ///   - body: Sets fields of a record. It may be called again for the same record, where its result could
  ///     not be written.
  public init<R: Record>(
    _ name: String, of type: R.Type, _ body: @escaping @Sendable (inout Draft<R>) throws -> Void
  ) {
    self.name = name
    work = .records { store in
      try store.query(type).search().listedIDs().sorted()
    } change: { id, tx in
      // It may have been deleted meanwhile.
      guard try tx.get(type, id) != nil else { return false }
      try tx.update(type, id, body)
      return true
    }
  }
}

extension Store {
  /// Has the store go through the changes that it has not gone through yet, in their order.
  ///
  /// Call it when the store has been opened and unlocked, before anything else, and list all changes that there
  /// ever were: new ones at the end. Where several processes do so, each change is made once. A change of one
  /// transaction is made and remembered together, or not at all. Each transaction of one in several keeps how
  /// far it has come; what was interrupted goes on with the next call.
  ///
  /// - Parameter migrations: The changes.
  /// - Returns: How many records were changed in transactions of some hundred, and which were left as they
  ///   are because they are damaged.
  /// - Throws: `locked`; `invalidArgument` where a name can't be one, is there twice, or stands before one
  ///   that the store has gone through; `tampered` where schemas are missing; what the changes throw. What was
  ///   changed before stays so.
  @discardableResult
  public func migrate(_ migrations: [Migration]) throws -> MigrationSummary {
    guard schemasAreVerified.isSet else { throw NotelogError(.locked, "unlock the store to migrate it") }
    try refuseMissingSchemas("migrating")
    try check(migrations.map(\.name))
    var summary = MigrationSummary()
    for (index, migration) in migrations.enumerated() {
      let later = migrations[(index + 1)...].map(\.name)
      if try !progress(of: migration.name, in: self).isDone { try run(migration, before: later, &summary) }
    }
    return summary
  }

  private func check(_ names: [String]) throws(NotelogError) {
    var seen: Set<String> = []
    for name in names {
      guard (1...200).contains(name.utf8.count), !name.hasControlCharacters else {
        throw NotelogError(.invalidArgument, "a migration has a name of 1 to 200 bytes without controls")
      }
      if !seen.insert(name).inserted {
        throw NotelogError(.invalidArgument, "the migration '\(name)' is there twice")
      }
    }
  }

  /// Makes a change, or what is left of it.
  private func run(_ migration: Migration, before later: [String], _ summary: inout MigrationSummary) throws {
    var listed: ArraySlice<RecordID>?
    var isDone = false
    while !isDone {
      if Cancellation.flag?.isSet == true { throw CancellationError() }
      // Another process may have gone on with it: what counts is seen with the turn in hand.
      try write { tx in
        var progress = try progress(of: migration.name, in: tx)
        isDone = progress.isDone
        if isDone { return }
        if let name = try later.first(where: { try self.progress(of: $0, in: tx).isDone }) {
          throw NotelogError(
            .invalidArgument,
            "the migration '\(migration.name)' stands before '\(name)', which the store has gone through: put it at the end"
          )
        }
        switch migration.work {
        case .whole(let body): try body(&tx)
        case .records(let all, let change):
          // Listed with the turn in hand: what others wrote before is seen.
          var ids = try listed ?? all(self)[...]
          if let last = progress.last { ids = ids.drop { $0 <= last } }
          let rest = ids
          try summary.change(of: &ids, in: &tx, change)
          if ids.startIndex > rest.startIndex { progress.last = rest[ids.startIndex - 1] }
          listed = ids
        }
        progress.isDone = listed?.isEmpty ?? true
        try tx.put(progress)
        isDone = progress.isDone
      }
    }
  }

  /// How far a change has come, as a store or a transaction sees it.
  private func progress(
    of name: String, in source: borrowing some RecordSource & ~Copyable
  ) throws -> MigrationProgress {
    let new = MigrationProgress(id: try RecordID(of: name, in: MigrationProgress.schema.name), name: name)
    return try source.get(MigrationProgress.self, new.id)?.record() ?? new
  }
}

/// How far a store has come in a change.
private struct MigrationProgress: Record {
  var id = RecordID()
  var name = ""
  /// The last record that was changed, in order of the ids.
  var last: RecordID?
  var isDone = false

  static let schema = Schema<MigrationProgress>(CollectionDescription.ownPrefix + "migrations") {
    Sealed("name", \.name)
    Sealed("last", \.last)
    Sealed("isDone", \.isDone)
  }
}
