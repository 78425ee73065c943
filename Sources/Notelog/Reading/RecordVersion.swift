// A record's history: the versions that compaction has not removed yet.

public import Foundation
import NotelogFormat

/// A version of a record that the store still has.
public struct RecordVersion: Sendable, Hashable {
  /// The number of the transaction that wrote it.
  public let revision: UInt64
  /// When it was committed, as the clock of the writer said; nil where the store keeps no times
  /// (``Store/Options/keepsCommitTimes``), and where compaction has moved the version in one that does not keep versions
  /// (``Store/Options/keepsVersions``).
  public let time: Date?
  /// Whether it is the record's deletion.
  public let isDeletion: Bool
  /// The number of the record's collection.
  public let collection: Int
}

extension Store {
  /// The versions of a record that the store still has, newest first; the record's deletions are among them.
  ///
  /// What is overwritten or deleted stays in the store's files until compaction removes it, at a moment that
  /// nobody promises, or as long as the store keeps versions. Versions need no key to be listed; ``get(_:_:revision:)`` reads one.
  ///
  /// ```swift
  /// for version in try store.versions(of: id) where !version.isDeletion {
  ///   print(version.revision, try store.get(Note.self, id, revision: version.revision)?.title ?? "")
  /// }
  /// ```
  ///
  /// - Parameter id: The record's id. Where it was another record's before, that one's versions are listed too.
  /// - Returns: The versions; none where there is no trace of the record.
  /// - Throws: `closed`, `inputOutput`. Where something is lost, versions may be missing, and ``damage`` knows of it.
  /// - Complexity: O(*n*) in the number of versions in the store, of which it reads what segments list.
  public func versions(of id: RecordID) throws -> [RecordVersion] {
    try journal.checkOpen()
    let moment = journal.snapshot()
    return try moment.versions(of: [id.bytes]).versions[id.bytes, default: []].map { version in
      RecordVersion(
        revision: version.sequence, time: Date(commitTime: try fromStorage(moment.time(of: version))),
        isDeletion: version.entry.kind == .tombstone, collection: Int(version.entry.collection))
    }
  }

  /// The version of a record that a transaction wrote, its sealed fields unopened; nil where the store does not
  /// have it any more, or it is a deletion.
  ///
  /// - Parameters:
  ///   - type: The record type.
  ///   - id: The record's id.
  ///   - revision: The version's revision: see ``versions(of:)``.
  /// - Returns: The version. It holds the record's bytes; a large value of it can be read until compaction
  ///   removes it.
  /// - Throws: `damaged`, `closed`, `inputOutput`, `schemaConflict`.
  /// - Complexity: As of ``versions(of:)``.
  public func get<R: Record>(_ type: R.Type, _ id: RecordID, revision: UInt64) throws -> Entry<R>? {
    let reader = try reader(for: type)
    return try read(id, in: reader.plan.collection.number, revision: revision).map {
      Entry(stored: $0, reader: reader)
    }
  }

  /// A version of a collection's record, copied out.
  func read(
    _ id: RecordID, in collection: UInt16, revision: UInt64
  ) throws(NotelogError) -> OwnedRecord? {
    try journal.checkOpen()
    let moment = journal.snapshot()
    let held = try moment.versions(of: [id.bytes]).versions[id.bytes] ?? []
    let version = held.first { $0.sequence == revision && $0.entry.kind == .record }
    guard let version else { return nil }
    var buffer = ReadBuffer()
    return try OwnedRecord(moment.read(version, into: &buffer), in: collection, buffer)
  }
}

extension Date {
  /// What a commit mark says of its time; nil where it says nothing.
  init?(commitTime milliseconds: UInt64?) {
    guard let milliseconds, milliseconds > 0 else { return nil }
    // From the year 2001 on, which a date counts from: nothing is rounded twice.
    let since2001 = Int64(clamping: milliseconds) - 978_307_200_000
    self.init(timeIntervalSinceReferenceDate: Double(since2001) / 1000)
  }
}
