// What is fuzzed, and how libFuzzer comes to it.

import CLibFuzzer
import Foundation
import Synchronization

/// A reader of untrusted bytes.
///
/// It may throw whatever it likes, and must not trap, nor take memory or time without bounds. What a target
/// checks besides, it checks by ``expect(_:_:)``.
protocol FuzzTarget: SendableMetatype {
  /// Inputs to start from, made by the code itself.
  static func seeds() throws -> [[UInt8]]
  /// Reads an input.
  static func run(_ input: [UInt8]) throws
}

/// Ends the process, for libFuzzer to keep the input.
func expect(_ condition: Bool, _ message: @autoclosure () -> String) {
  if !condition { fatalError(message()) }
}

/// The target that libFuzzer's inputs go to: its callback has no room for one.
private let chosen = Mutex<(any FuzzTarget.Type)?>(nil)

/// What the program can be asked for.
enum Fuzzer {
  /// Everything that reads bytes which somebody else may have written.
  static let targets: [String: any FuzzTarget.Type] = [
    "keyring": KeyringTarget.self,
    "journal": JournalTarget.self,
    "checkpoint": CheckpointTarget.self,
    "record": RecordTarget.self,
    "json": JSONTarget.self,
    "archive": ArchiveTarget.self,
    "inflate": InflateTarget.self,
    "schemas": SchemasTarget.self,
  ]

  /// Runs libFuzzer's own main loop, which does not return unless it was told how long to run.
  static func run(_ target: any FuzzTarget.Type, _ arguments: [String]) -> CInt {
    chosen.withLock { $0 = target }
    var count = CInt(arguments.count)
    // SAFETY: the texts live as long as the process, as libFuzzer wants them to.
    var texts = unsafe arguments.map { unsafe strdup($0) } + [nil]
    return unsafe texts.withUnsafeMutableBufferPointer { texts in
      var start = texts.baseAddress
      return unsafe LLVMFuzzerRunDriver(&count, &start) { bytes, count in
        // SAFETY: libFuzzer lends so many bytes for the length of the call.
        let input = unsafe Array(UnsafeBufferPointer(start: bytes, count: count))
        try? chosen.withLock { $0 }?.run(input)
        return 0
      }
    }
  }
}
