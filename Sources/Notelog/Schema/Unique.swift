// A line of a schema that says what no two records share.

/// A rule of a schema: no two records have the same value in a field, or the same two values in two.
///
/// ```swift
/// static let schema = Schema<Account>("account") {
///   Plain("site", \.site, indexed: true)
///   Plain("user", \.user, indexed: true)
///   Unique(\.site, \.user)
/// }
/// ```
///
/// Whoever would write such a record, in a transaction or a batch, in this process or another, with this type or by field names, is refused with `conflict`, which names the record that has the value. A record
/// that has nil in one of the fields, or lacks it, is in nobody's way. Text is compared by its bytes.
///
/// The fields are plain and indexed, or sealed if the rule says what that reveals: an index leads to the records that may have the value. (Where some record lacks a field, as it was written before there was one, no index does, and all are gone through for each
/// record that is written.) The rule is for what is written from then on; records that there are already aren't looked at.
public struct Unique<R: Record> {
  let paths: [any PartialKeyPath<R> & Sendable]
  let revealsEquality: Bool

  /// No two records have the same value in a field.
  public init<Value: FieldValue>(_ path: FieldKeyPath<R, Value>) {
    (paths, revealsEquality) = ([path], false)
  }

  /// No two records have the same value in a sealed field. It reveals to whoever has the files which values are equal: versions of one record that
  /// had the same value, and records that were given a value which another had had before.
  ///
  /// A digest of each value is kept beside it, in the clear, under a key that is derived from the field's: without that key nobody tells what a
  /// value is, nor tries guesses, nor compares stores or fields. Writing a value needs the field's key, and every other one that it was sealed
  /// under before; the key's rotation makes the digests anew, and once it is shredded they are of no use. Conditions that the field has
  /// some value (`is`, `isIn`) find records by the digest, and open no others.
  ///
  /// - Parameter path: The field: sealed, under one key, not JSON, its values at most ``Limits/digestedBytes`` long.
  public init<Value: FieldValue>(revealingEqualityOf path: FieldKeyPath<R, Value>) {
    (paths, revealsEquality) = ([path], true)
  }

  /// No two records have the same two values in two fields.
  public init<First: FieldValue, Second: FieldValue>(
    _ first: FieldKeyPath<R, First>, _ second: FieldKeyPath<R, Second>
  ) {
    (paths, revealsEquality) = ([first, second], false)
  }
}
