// The limits of records and schemas, compared with every length before it is used (FORMAT.md, "Limits").

import NotelogCrypto
import NotelogFormat

/// The format's limits.
public enum Limits {
  /// The largest plain value, and the largest record.
  public static var recordBytes: Int { FormatLimits.maximumRecordByteCount }
  /// The most that a transaction takes in the log, which is what one write closure writes or what is
  /// committed at once: its records as they are stored, sealed, and the chunks of large values, with a header
  /// of 40 bytes for each.
  public static var transactionBytes: Int { FormatLimits.maximumTransactionByteCount }
  /// The most fields of a record, retired ones among them.
  public static let fields = 4_096
  /// The longest name of a collection or field in UTF-8 bytes.
  public static let nameBytes = 255
  /// The highest number of a collection.
  public static var collections: Int { FormatLimits.maximumCollection }
  /// How much of a value an ordered index keeps.
  public static let sortKeyBytes = 64
  /// The longest value of a sealed field that reveals equality.
  public static let digestedBytes = 4_096
  /// How many rules of what is unique a collection has.
  public static let uniqueRules = 255
  /// The least length of a padded value.
  public static let paddingBucket = 32
  /// How much of a large value's plaintext a chunk holds; a sealed value that is longer leaves its record.
  public static var chunkBytes: Int { FormatLimits.chunkByteCount }
  /// The longest large value.
  public static var largeValueBytes: Int { FormatLimits.maximumChunks * FormatLimits.chunkByteCount }
  /// The highest number of a field: one more is kept for seals of records.
  static let maximumFieldNumber: UInt16 = 65_534
  /// The longest envelope of a record.
  static var envelopeBytes: Int { FormatLimits.maximumEnvelopeByteCount }
  /// The most keys that a field was ever sealed under, and that records choose among for one.
  public static let keysOfField = 255
  /// The longest name of a key in UTF-8 bytes.
  public static var keyNameBytes: Int { Keyring.keyNameByteCountMax }
  /// The most that all schemas of a store take together.
  public static let schemaFileBytes = 67_108_864
}

extension String {
  /// Whether it can't be a name: other programs take a control character for the end of it, or for a command
  /// (FORMAT.md 21.3).
  var hasControlCharacters: Bool { unicodeScalars.contains { $0.properties.generalCategory == .control } }
}
