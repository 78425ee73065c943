// Examines a store that somebody may be writing to: FORMAT.md §25, "Readers".

import NotelogBase
import NotelogFormat
import NotelogStorage

extension Examination {
  /// How often a finding that may be due to a writer's going on is looked at again.
  private static let maximumAttempts = 1000
  /// How often it must be the same in a row to be believed.
  private static let believedAfter = 4

  /// Examines a store that another process may be writing to.
  ///
  /// While it looks, segments may go, and come, and be finished. What looks like damage, or a file that is
  /// missing or shorter than it was, is only believed when it is found again and again, among the same files.
  static func stable(
    _ storage: any Storage, storeID: ID16? = nil, forgiving: Bool = false
  ) throws(NotelogError) -> Examination {
    var previous: (damages: [Finding], error: String, names: Set<String>)?
    var (repetitions, attempt) = (1, 0)
    while true {
      attempt += 1
      let outcome = Result { () throws(NotelogError) in
        try Examination(storage, storeID: storeID, forgiving: forgiving)
      }
      let examined = try? outcome.get()
      if let examined, examined.report.damages.isEmpty, !examined.isBeingRecovered,
        !(try fromStorage(examined.wasCutMeanwhile(in: storage, forgiving: forgiving)))
      {
        return examined
      }
      // A head that was finished meanwhile is shorter than it was: where there is another since, somebody is
      // writing.
      let names = Set((try? storage.names(in: "")) ?? [])
      var message = ""
      if case .failure(let error) = outcome { message = error.message }
      let finding = (examined?.report.damages ?? [], message, names)
      repetitions = previous.map { $0 == finding } ?? false ? repetitions + 1 : 1
      previous = finding
      if repetitions == believedAfter || attempt == maximumAttempts { return try outcome.get() }
    }
  }

  /// Whether a recovered segment's sources have not been cut and finished yet.
  var isBeingRecovered: Bool { log.contains(where: \.isCut) }

  /// Whether the log's end may have been cut while it was read: a recovery gives what it copies from there a
  /// new name, and cuts then. What was read in between ends too early, and looks like a log that ends there.
  private func wasCutMeanwhile(
    in storage: any Storage, forgiving: Bool
  ) throws(StorageError) -> Bool {
    guard let newest else { return false }
    do throws(StorageError) {
      if try newest.file.byteCount() < newest.byteCount { return true }
      for number in try FolderNames(storage).numbers
      where number > newest.number && survey.segments[number] == nil {
        let found = try Survey.read(number, in: storage, forgiving: forgiving)
        if found?.header.kind == .recovered { return true }
      }
      return false
    } catch {
      // A segment that went again while it was looked for.
      if error.isMissing { return true }
      throw error
    }
  }

  /// Makes durable what was found, whoever wrote it.
  func synchronize(in storage: any Storage) throws(StorageError) {
    for number in survey.segments.keys.sorted() where number >= report.floor.segment {
      try survey.segments[number]?.file.makeDurable()
    }
    // The newest segment's name may be in memory only.
    try storage.makeNamesDurable()
  }
}
