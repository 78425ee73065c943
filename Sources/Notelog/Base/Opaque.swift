// What a dump of the library's objects shows, and a test that fails with one in its expectation.

/// A type that shows nothing of its insides to reflection: its description, if it has one, says what it is.
///
/// A mirror of a value that can't be copied, such as a lock, ends the process, and Swift Testing makes one of
/// whatever an expectation is about. So each public type that leads to such a value, or to a secret, is
/// opaque.
protocol Opaque: CustomReflectable {}

extension Opaque {
  /// Nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
