// What opens fields: the keys, and a count of what was opened.

import NotelogCrypto

/// Opens fields of a store's records.
///
/// An object, so that handing it on counts nothing: as a value, each of what it holds would be counted up and down for
/// every field, in memory that all threads share.
final class FieldOpener: Sendable {
  let vault: Vault
  let metrics: FieldMetrics
  let journal: Journal
  /// Chunks that the transaction which reads has written itself.
  let pending: PendingChunks?

  init(vault: Vault, metrics: FieldMetrics, journal: Journal, pending: PendingChunks? = nil) {
    self.vault = vault
    self.metrics = metrics
    self.journal = journal
    self.pending = pending
  }

  /// The same for a record, which may be one that the transaction has just written.
  func reading(_ stored: OwnedRecord) -> FieldOpener {
    stored.pending.map(reading) ?? self
  }

  /// The same for records with chunks that are not in the journal yet.
  func reading(_ pending: PendingChunks) -> FieldOpener {
    FieldOpener(vault: vault, metrics: metrics, journal: journal, pending: pending)
  }

  /// Why a value was not opened.
  func refusal(_ error: CryptoError, _ place: String) -> NotelogError {
    error == .closed
      ? .closed(journal.path) : NotelogError(crypto: error, place)
  }

  /// Calls `body` with the value's bytes: a presence byte if the plan says optional, then the value.
  ///
  /// For single values; whoever opens many keeps an ``Opening``.
  func open<Result>(
    _ entry: FieldEntry, in body: RawSpan, of id: RecordID, _ index: Int, _ plan: CollectionPlan,
    _ use: (RawSpan) throws(NotelogError) -> Result
  ) throws(NotelogError) -> Result {
    var opening = Opening()
    return try opening.open(entry, in: body, of: id, index, plan, self, use)
  }
}

extension CollectionPlan {
  /// A field's name behind its collection's, for messages.
  func name(of index: Int) -> String { "\(schema.name).\(fields[index].field.name)" }

  /// A field's place, for messages.
  func place(_ index: Int, _ id: RecordID) -> String { "\(name(of: index)) of record \(id)" }
}
