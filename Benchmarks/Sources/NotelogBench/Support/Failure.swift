// What makes a measurement impossible.

/// A message for whoever started the measurement.
struct Failure: Error, CustomStringConvertible {
  let description: String

  init(_ description: String) { self.description = description }
}
