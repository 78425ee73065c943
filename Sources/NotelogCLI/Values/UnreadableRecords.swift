// Records that a command over many could not read, as it says them: the first of them one by one, the others by their number.
import Notelog

/// Says on stderr which records could not be read.
struct UnreadableRecords {
  private static let shownCount = 10

  private let console: Console
  private(set) var count = 0

  init(_ console: Console) { self.console = console }

  /// Says it of a record, unless it was said of enough of them.
  mutating func add(_ id: RecordID, _ error: NotelogError) {
    count += 1
    guard count <= Self.shownCount else { return }
    console.say("error", "record \(id.shown) cannot be read: \(ToolError(error).message)")
  }

  /// Says how many more there were.
  ///
  /// - Returns: What the command exits with: `code` where all could be read.
  func end(_ code: ExitCode) -> ExitCode {
    if count > Self.shownCount {
      console.say("error", "and \(count - Self.shownCount) more records cannot be read")
    }
    return count > 0 ? .damage : code
  }
}
