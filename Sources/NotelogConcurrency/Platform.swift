// A mutex and its condition variable, as the C library has them: the one file here that knows which library it is.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A mutex with its condition variable.
// SAFETY: both live at addresses that never move, are reached by the pthread calls alone, and end with this object.
@safe package final class ConditionMutex: Sendable {
  // SAFETY: as said above.
  private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private nonisolated(unsafe) let condition: UnsafeMutablePointer<pthread_cond_t>
  // SAFETY: read and written with the mutex held.
  private nonisolated(unsafe) var waiterCount = 0

  package init() {
    // SAFETY: allocated and initialised before anything uses them.
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe condition.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
  }

  deinit {
    // SAFETY: nobody holds or waits for a mutex whose last owner is gone.
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  // SAFETY: the mutex is initialised as long as this object lives.
  package func lock() { unsafe pthread_mutex_lock(mutex) }

  // SAFETY: as above.
  package func unlock() { unsafe pthread_mutex_unlock(mutex) }

  /// Gives the lock up until somebody wakes all.
  package func wait() {
    // SAFETY: called with the mutex held, as the count requires and the condition variable too.
    unsafe waiterCount += 1
    unsafe pthread_cond_wait(condition, mutex)
    unsafe waiterCount -= 1
  }

  package func unlockAndWakeAll() {
    // SAFETY: called with the mutex held; the count is read before it is given up.
    let someoneWaits = unsafe waiterCount > 0
    unsafe pthread_mutex_unlock(mutex)
    if someoneWaits { unsafe pthread_cond_broadcast(condition) }
  }
}
