// Secrets in the keyring that the kernel keeps for the user: Linux only, and not where a sandbox forbids it.
import CSystem
import Foundation
import Notelog

enum KernelKeyring {
  /// What the keys' names begin with that are the tool's.
  private static let prefix = "notelog:"

  /// Why it can't be used here; nil where it can.
  static var refusal: String? {
    guard kernel_key_read(kernel_keyring(), nil, 0) < 0 else { return nil }
    return systemError(errno)
  }

  /// Keeps a secret under a name for so many seconds, in place of what has that name.
  static func keep(_ secret: SecretBytes, named name: String, seconds: UInt32) throws {
    let isKept = secret.withBytes { bytes in
      // SAFETY: name and bytes outlive the call, which copies them.
      unsafe bytes.withUnsafeBytes {
        unsafe kernel_key_keep(prefix + name, $0.baseAddress, $0.count, seconds) == 0
      }
    }
    guard isKept else { throw failure }
  }

  /// A key's secret of so many bytes; nil where it has another length, or went away.
  static func read(_ key: Int, byteCount: Int) -> SecretBytes? {
    let found = try? SecretBytes(capacity: byteCount + 1) { memory in
      // SAFETY: the pointer and count are the memory's own; a longer key is cut.
      let count = unsafe memory.withUnsafeMutableBytes {
        unsafe kernel_key_read(key, $0.baseAddress, $0.count)
      }
      return count == byteCount ? byteCount : 0
    }
    return found?.byteCount == byteCount ? found : nil
  }

  /// All keys that the tool keeps, by the names that it gave them.
  static func keys() -> [(number: Int, name: String)] {
    var numbers = [Int32](repeating: 0, count: 1024)
    // SAFETY: the pointer and count are the array's own.
    let count = unsafe numbers.withUnsafeMutableBytes {
      unsafe kernel_key_read(kernel_keyring(), $0.baseAddress, $0.count)
    }
    guard count > 0 else { return [] }
    return numbers.prefix(count / 4).compactMap { number in
      name(of: Int(number)).map { (Int(number), $0) }
    }
  }

  /// Forgets a key.
  static func forget(_ key: Int) throws {
    guard kernel_key_forget(key) == 0 else { throw failure }
  }

  /// The name that the tool gave a key, with which its description, `type;user;group;permissions;name`, ends;
  /// nil for another's.
  private static func name(of key: Int) -> String? {
    var text = [CChar](repeating: 0, count: 256)
    // SAFETY: the pointer and count are the array's own.
    guard unsafe kernel_key_describe(key, &text, text.count) > 0,
      let description = String(validating: text.prefix { $0 != 0 }, as: UTF8.self)
    else { return nil }
    let parts = description.split(separator: ";", maxSplits: 4, omittingEmptySubsequences: false)
    guard parts.count == 5, parts[0] == "user", parts[4].hasPrefix(prefix) else { return nil }
    return String(parts[4].dropFirst(prefix.count))
  }

  private static var failure: ToolError {
    ToolError(
      .failed, "the kernel's keyring cannot be used here: \(systemError(errno))",
      hint: "keep it with an agent: --keep agent")
  }
}
