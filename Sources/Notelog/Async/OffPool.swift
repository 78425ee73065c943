// Waiting for disks and locks without holding up the threads of the cooperative pool.

import NotelogBase

/// Runs `body` on a thread that may block, and waits for it as tasks do.
func offPool<Result: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Result
) async throws(Failure) -> Result {
  let outcome = await withCheckedContinuation {
    (continuation: CheckedContinuation<Swift.Result<Result, Failure>, Never>) in
    onWaitingThread { continuation.resume(returning: Swift.Result(catching: body)) }
  }
  return try outcome.get()
}

/// The same for work that takes a while. When the task is cancelled the flag is set, and `body` comes to an end by itself; nothing is begun
/// in a task that is cancelled already.
func offPool<Result: Sendable>(
  stopping body: @escaping @Sendable (Flag) throws -> Result
) async throws -> Result {
  try Task.checkCancellation()
  let stop = Flag(false)
  return try await withTaskCancellationHandler {
    try await offPool { try body(stop) }
  } onCancel: {
    _ = stop.exchange(true)
  }
}

/// The same for work that asks by its progress whether to go on, and throws `cancelled` where it is not to: what the task's end has stopped
/// throws `CancellationError`.
func offPool<Result: Sendable>(
  telling progress: @escaping @Sendable (Int, Int) -> Bool,
  _ body: @escaping @Sendable (@escaping (Int, Int) -> Bool) throws -> Result
) async throws -> Result {
  try await offPool { stop in
    do {
      return try body { !stop.isSet && progress($0, $1) }
    } catch let error as NotelogError where error.code == .cancelled && stop.isSet {
      throw CancellationError()
    }
  }
}
