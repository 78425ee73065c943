// What is walked in the place of those parts of an index that turn out to be unreadable.

import NotelogBase

/// An index that is made when it is first asked for.
final class OrderSubstitute: Sendable {
  private let made = Lock<OrderedIndex?>(nil)
  private let make: @Sendable () throws -> OrderedIndex

  init(_ make: @escaping @Sendable () throws -> OrderedIndex) { self.make = make }

  /// The index; whoever else asks for it meanwhile waits.
  func index() throws -> OrderedIndex {
    try made.withLock { made in
      if let made { return made }
      let index = try make()
      made = index
      return index
    }
  }
}
