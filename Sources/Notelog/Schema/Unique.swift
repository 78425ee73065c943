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
/// The fields are plain and indexed: an index leads to the records that may have the value. (Where some record lacks a field, as it was written before there was one, no index does, and all are gone through for each
/// record that is written.) The rule is for what is written from then on; records that there are already aren't looked at.
public struct Unique<R: Record> {
  let paths: [any PartialKeyPath<R> & Sendable]

  /// No two records have the same value in a field.
  public init<Value: FieldValue>(_ path: FieldKeyPath<R, Value>) { paths = [path] }

  /// No two records have the same two values in two fields.
  public init<First: FieldValue, Second: FieldValue>(
    _ first: FieldKeyPath<R, First>, _ second: FieldKeyPath<R, Second>
  ) {
    paths = [first, second]
  }
}
