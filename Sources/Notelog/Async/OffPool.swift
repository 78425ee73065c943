// Waiting for disks and locks without holding up the threads of the cooperative pool.

import NotelogBase

/// Runs `body` on a thread that may block, and waits for it as tasks do.
func offPool<Result: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Result
) async throws(Failure) -> Result {
  let outcome = await withCheckedContinuation {
    (continuation: CheckedContinuation<Outcome<Result, Failure>, Never>) in
    onWaitingThread { continuation.resume(returning: Outcome(body)) }
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
