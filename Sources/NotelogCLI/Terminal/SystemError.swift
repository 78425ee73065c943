// The system's own words for an error number.
import Foundation

enum SystemError {
  static func text(_ number: Int32) -> String {
    // SAFETY: strerror returns a string that ends in a zero and is copied before any other call.
    let text = unsafe String(cString: strerror(number))
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}
