// A mutex and its condition variable, as the C library has them.

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// A mutex with its condition variable.
@safe package final class ConditionMutex: Sendable {
  // SAFETY: allocated in init at addresses that never move, used by the pthread calls alone, freed in deinit.
  private nonisolated(unsafe) let mutex: UnsafeMutablePointer<pthread_mutex_t>
  private nonisolated(unsafe) let condition: UnsafeMutablePointer<pthread_cond_t>
  // SAFETY: read and written with the mutex held.
  private nonisolated(unsafe) var waiterCount = 0

  package init() {
    unsafe mutex = .allocate(capacity: 1)
    unsafe condition = .allocate(capacity: 1)
    unsafe mutex.initialize(to: pthread_mutex_t())
    unsafe condition.initialize(to: pthread_cond_t())
    unsafe pthread_mutex_init(mutex, nil)
    unsafe pthread_cond_init(condition, nil)
  }

  deinit {
    unsafe pthread_cond_destroy(condition)
    unsafe pthread_mutex_destroy(mutex)
    unsafe condition.deallocate()
    unsafe mutex.deallocate()
  }

  package func lock() { unsafe pthread_mutex_lock(mutex) }

  package func unlock() { unsafe pthread_mutex_unlock(mutex) }

  /// Gives the lock up until somebody wakes all.
  package func wait() {
    unsafe waiterCount += 1
    unsafe pthread_cond_wait(condition, mutex)
    unsafe waiterCount -= 1
  }

  package func unlockAndWakeAll() {
    let someoneWaits = unsafe waiterCount > 0
    unsafe pthread_mutex_unlock(mutex)
    if someoneWaits { unsafe pthread_cond_broadcast(condition) }
  }
}
