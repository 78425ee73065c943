// What the app's record types conform to.

/// A value that a store keeps as a record: its schema says which properties are fields, and which are sealed.
///
/// ```swift
/// struct Note: Record {
///   var id = RecordID()
///   var time = Date()
///   var title = ""
///   static let schema = Schema<Note>("note") {
///     Plain("time", \.time, indexed: true)
///     Sealed("title", \.title)
///   }
/// }
/// ```
///
/// Properties that the schema doesn't name aren't stored; they have their initial value when a record is read.
public protocol Record: Sendable {
  /// Creates a record with the initial values that fields missing from a stored record take.
  init()
  /// The record's identity in the store.
  var id: RecordID { get set }
  /// The record's fields, by name.
  static var schema: Schema<Self> { get }
}
