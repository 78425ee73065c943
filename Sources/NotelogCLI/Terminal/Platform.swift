// The one file of the tool that knows which C library it stands on.
import CSystem
import Foundation

enum Platform {
  /// Has the system write no core dump of this process and its children, whatever it allowed before.
  ///
  /// The library keeps its own secrets out of them; OpenSSL's key schedules and opened values lie in ordinary
  /// memory.
  static func refuseCoreDumps() {
    var none = rlimit(rlim_cur: 0, rlim_max: 0)
    #if canImport(Glibc)
      let core = __rlimit_resource_t(RLIMIT_CORE.rawValue)
    #else
      let core = RLIMIT_CORE
    #endif
    // SAFETY: the pointer is to a local; to lower a limit is permitted to everybody.
    _ = unsafe setrlimit(core, &none)
  }

  /// Overwrites 64 KiB of the stack, on which calls that have returned may have left a register's contents.
  @_optimize(none) @inline(never)
  static func clearStack() { _ = InlineArray<8192, UInt64>(repeating: 0) }

  /// Has a crash end the process, and print nothing of its registers and memory, as Swift's backtraces do.
  static func refuseBacktraces() {
    for number in [SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGQUIT, SIGSEGV, SIGTRAP] { signal(number, SIG_DFL) }
  }

  /// Whether a path leads to a folder, and the system's error where that can't be said.
  static func look(at path: String) -> (isFolder: Bool, error: Int32) {
    var status = stat()
    // SAFETY: Swift lends the path as a C string for the call, which fills the structure.
    let isThere = unsafe stat(path, &status) == 0
    return (isThere && status.st_mode & S_IFMT == S_IFDIR, isThere ? 0 : errno)
  }

  /// Has the system let no other process of the user look into this one, where it can.
  static func refuseInspection() { _ = refuse_inspection() }

  // SAFETY: what they hold is made by their own functions before it is used; posix_spawn alone reads the
  // environment.
  #if canImport(Darwin)
    static var spawnActions: posix_spawn_file_actions_t? { unsafe nil }
    static var spawnAttributes: posix_spawnattr_t? { unsafe nil }
    static let spawnInOwnSession = Int16(POSIX_SPAWN_SETSID)
    static var environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? {
      unsafe _NSGetEnviron().pointee
    }
  #else
    static var spawnActions: posix_spawn_file_actions_t { unsafe posix_spawn_file_actions_t() }
    static var spawnAttributes: posix_spawnattr_t { posix_spawnattr_t() }
    /// POSIX_SPAWN_SETSID, which the headers show only who asks for _GNU_SOURCE.
    static let spawnInOwnSession: Int16 = 0x80
    static var environment: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? { unsafe environ }
  #endif
}
