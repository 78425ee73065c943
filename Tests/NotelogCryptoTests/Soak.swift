// Whether the long variants of tests run.

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `NOTELOG_SOAK=1` turns on what takes minutes.
enum Soak {
  // SAFETY: nothing changes the environment while tests run.
  static var isOn: Bool { unsafe getenv("NOTELOG_SOAK").map { unsafe String(cString: $0) } == "1" }
}
