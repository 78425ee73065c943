// The time zone that the system or TZ says.
import Foundation

enum LocalTime {
  /// How many seconds local time is ahead of UTC at a moment, in seconds since 1970.
  static func offset(at seconds: Int) -> Int {
    var time = time_t(seconds)
    // SAFETY: the pointers are to locals, and the zone's name is not looked at.
    var parts = unsafe tm()
    return unsafe localtime_r(&time, &parts) == nil ? 0 : parts.tm_gmtoff
  }
}
