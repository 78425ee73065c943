// Waiting for disks and locks without holding up the threads of the cooperative pool.

import Dispatch

/// Where a call that may wait gets a thread.
private var waitingQueue: DispatchQueue {
  #if canImport(Darwin)
    .global()
  #else
    // The cooperative pool is one of the global queues: tasks would wait for a thread behind whoever waits here, and get one a
    // second. A serial queue of its own gets a thread at once, as long as there are fewer than 255.
    DispatchQueue(label: "notelog.waiting")
  #endif
}

/// Runs `body` on a thread that may block, and waits for it as tasks do.
func offPool<Result: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Result
) async throws(Failure) -> Result {
  let outcome = await withCheckedContinuation {
    (continuation: CheckedContinuation<Outcome<Result, Failure>, Never>) in
    waitingQueue.async { continuation.resume(returning: Outcome(body)) }
  }
  return try outcome.get()
}

/// What `body` came to. (`Result`'s own initializer forgets the type of the error.)
private enum Outcome<Success: Sendable, Failure: Error>: Sendable {
  case success(Success)
  case failure(Failure)

  init(_ body: () throws(Failure) -> Success) {
    do { self = .success(try body()) } catch { self = .failure(error) }
  }

  func get() throws(Failure) -> Success {
    switch self {
    case .success(let value): return value
    case .failure(let error): throw error
    }
  }
}
