// A descriptor that is closed when its owner goes.
import Foundation

/// Owns a descriptor.
struct Descriptor: ~Copyable, Sendable {
  let number: Int32

  /// Takes over a descriptor that was just opened; nil where there is none.
  init?(owning number: Int32) {
    guard number >= 0 else { return nil }
    self.number = number
  }

  deinit { close(number) }
}
