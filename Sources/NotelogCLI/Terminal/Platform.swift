// The one file of the tool that knows which C library it stands on.
import Foundation

enum Platform {
  /// Has the system write no core dump of this process and its children, whatever it allowed before.
  ///
  /// The library keeps its own secrets out of them; OpenSSL's key schedules and opened values lie in ordinary memory.
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
}
