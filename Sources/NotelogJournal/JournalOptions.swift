// What a caller may choose when opening a journal.

/// Options of a journal.
package struct JournalOptions: Sendable {
  /// The size segments are aimed at; chosen by what the store holds where nothing is said.
  package var segmentByteCount: Int?
  /// Whether nothing may be written.
  package var isReadOnly = false
  /// Makes salts, store ids and the like.
  package var random: @Sendable () -> UInt64 = { UInt64.random(in: 0...UInt64.max) }

  package init() {}
}
