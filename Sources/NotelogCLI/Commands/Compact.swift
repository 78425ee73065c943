// `notelog compact STORE`: gives back the space of what was changed or removed.
import Notelog

extension Command {
  static let compact: Command = Command(
    words: ["compact"], summary: "give back the space of what was changed or removed",
    discussion: """
      No key is needed: sealed bytes are copied as they are. It may be interrupted at any moment.

      A damaged segment is left as it is, and named; then it exits 3.
      """,
    positionals: [.store], options: [dryRun, purge, .segmentSize, .json], run: compactStore)

  fileprivate static let dryRun = Option(
    long: "dry-run", help: "only say how much would be freed, about; nothing is written")
  fileprivate static let purge = Option(
    long: "purge",
    help:
      "leave nothing in the files that was changed or removed, however little; nor versions that the store keeps"
  )
}

private func compactStore(_ call: Invocation) throws -> ExitCode {
  let way = try call.only(of: [Command.purge, Command.dryRun])
  if way == Command.dryRun {
    let forecast = try call.withStore(.never, readOnly: true) { store in store.compactionForecast }
    try call.print(
      "would free about \(forecast.freedByteCount) bytes: \(counted(forecast.segments.count, "segment")), of which "
        + "\(forecast.copiedByteCount) bytes would be copied",
      or: [
        "bytesFreed": forecast.freedByteCount, "bytesCopied": forecast.copiedByteCount,
        "segments": forecast.segments,
      ])
    return .done
  }
  let isPurge = way == Command.purge
  var byteCountBefore = 0
  let done = try call.withStore(.ifGiven) { store -> CompactionSummary? in
    byteCountBefore = store.info().byteCount
    // Another segment takes something by itself: the store must not become larger.
    if !isPurge, store.compactionForecast.segments.isEmpty { return nil }
    return try withProgress("compacting") { progress in
      try isPurge ? store.purge(progress: progress) : store.compact(progress: progress)
    }
  }
  if Interrupt.isRequested { throw ToolError.interrupted }
  // An open store holds room to write into; what was gained shows once it is closed.
  let byteCountAfter = try call.withStore(.never, readOnly: true) { store in store.info().byteCount }
  try call.print(
    "\(byteCountBefore) bytes before, \(byteCountAfter) after; "
      + "\(counted(done?.removedSegments ?? 0, "segment")) became \(done?.addedSegments ?? 0)",
    or: [
      "bytesBefore": byteCountBefore, "bytesAfter": byteCountAfter,
      "segmentsRemoved": done?.removedSegments ?? 0, "segmentsAdded": done?.addedSegments ?? 0,
      "segmentsDamaged": done?.damagedSegments ?? [],
    ])
  guard let done else { return .done }
  if done.isUnfinished {
    Console.say("warning", "the disk is full, and not all was compacted: compact again")
  }
  for number in done.damagedSegments {
    Console.say("error", "segment \(number) is damaged and was left as it is")
  }
  return done.damagedSegments.isEmpty ? .done : .damage
}
