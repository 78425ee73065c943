// The limits of records and schemas, compared with every length before it is used (FORMAT.md 15).

/// The format's limits.
public enum Limits {
  /// The largest plain value, and the largest record.
  public static let recordBytes = 16_777_216
  /// The most fields of a record, retired ones among them.
  public static let fields = 4_096
  /// The longest name of a collection or field in UTF-8 bytes.
  public static let nameBytes = 255
  /// The highest number of a collection.
  public static let collections = 65_535
  /// How much of a value an ordered index keeps.
  public static let sortKeyBytes = 64
  /// The least length of a padded value.
  public static let paddingBucket = 32
  /// The most keys that a field was ever sealed under.
  public static let keysOfField = 255
}
