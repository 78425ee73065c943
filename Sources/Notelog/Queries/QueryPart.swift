// The parts of a query that threads share, and how they come to an end before their time.

import NotelogBase

/// What one thread of a query goes through.
struct QueryPart: Sendable {
  let number: Int
  /// Set when the task is cancelled that asks.
  private let stop: Flag?
  /// Set when another part has failed.
  private let failure: Flag?

  /// All of a query that one thread goes through, for the task that this thread works for.
  static var whole: QueryPart { QueryPart(0, nil) }

  init(_ number: Int, _ failure: Flag?, stop: Flag? = Cancellation.flag) {
    (self.number, self.stop, self.failure) = (number, stop, failure)
  }

  /// Between how many records is asked whether the answer is still wanted.
  private static let interval = 64

  /// Throws where the task was cancelled that asks, or another part has failed; asked at one record of many.
  func check(at record: Int) throws {
    guard record & (Self.interval - 1) == 0 else { return }
    if Task.isCancelled || stop?.isSet == true || failure?.isSet == true { throw CancellationError() }
  }
}

extension Query {
  /// Runs `body` for each part, on as many threads. Where one fails, the others end.
  func inParts<Value: Sendable>(_ body: @Sendable (QueryPart) throws -> Value) throws -> [Value] {
    if partCount == 1 { return [try body(.whole)] }
    let (stop, failure) = (Cancellation.flag, Flag(false))
    let results = Lock<(values: [Value?], failure: (any Error)?)>(
      (Array(repeating: nil, count: partCount), nil))
    inParallel(partCount) { number in
      do {
        let value = try body(QueryPart(number, failure, stop: stop))
        results.withLock { $0.values[number] = value }
      } catch {
        // Of several, the first: the others may have ended because of it.
        results.withLock { $0.failure = $0.failure ?? error }
        _ = failure.exchange(true)
      }
    }
    return try results.withLock { results in
      if let failure = results.failure { throw failure }
      return results.values.compactMap(\.self)
    }
  }
}
