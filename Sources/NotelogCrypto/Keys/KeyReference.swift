// The number by which a sealed value names its key (docs/format-keyring.md 10.5).

/// One generation of one named data key. Given out once and never again, so that a value can never be opened
/// with a key other than the one it was sealed under.
package struct KeyReference: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
  package let rawValue: UInt32

  package init(rawValue: UInt32) { self.rawValue = rawValue }

  package static func < (one: KeyReference, other: KeyReference) -> Bool { one.rawValue < other.rawValue }

  package var description: String { "key \(rawValue)" }
}
