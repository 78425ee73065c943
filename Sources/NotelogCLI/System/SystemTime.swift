// The system's calendar, and the time zone that it or TZ says.
import Foundation

/// Moments in seconds since 1970.
enum SystemTime {
  /// How many seconds local time is ahead of UTC.
  static func localOffset(at seconds: Int) -> Int {
    var time = time_t(seconds)
    // SAFETY: the pointers are to locals, and the zone's name is not looked at.
    var parts = unsafe tm()
    return unsafe localtime_r(&time, &parts) == nil ? 0 : parts.tm_gmtoff
  }

  /// `2026-11-20T10:38:43`, in UTC.
  static func text(at seconds: Int) -> String {
    var time = time_t(seconds)
    // SAFETY: the pointers are to locals, and the zone's name is not looked at.
    var parts = unsafe tm()
    _ = unsafe gmtime_r(&time, &parts)
    let numbers = unsafe [
      parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec,
    ]
    return String(format: "%04d-%02d-%02dT%02d:%02d:%02d", arguments: numbers)
  }

  /// When a day begins in UTC; nil where its month does not have it.
  static func midnight(_ year: Int, _ month: Int, _ day: Int) -> Int? {
    // SAFETY: the pointer is to a local, whose zone's name is not looked at.
    var parts = unsafe tm()
    unsafe (parts.tm_year, parts.tm_mon, parts.tm_mday) = (Int32(year - 1900), Int32(month - 1), Int32(day))
    let seconds = unsafe timegm(&parts)
    // It was made another month's day.
    return unsafe parts.tm_mday == day && parts.tm_mon == month - 1 ? seconds : nil
  }
}
