// `notelog compact STORE`: gives back the space of what was changed or removed.
import Notelog

extension Command {
  static let compact: Command = Command(
    words: ["compact"], summary: "give back the space of what was changed or removed",
    discussion: [
      "No key is needed: sealed bytes are copied as they are. It may be interrupted at any moment.",
      "A damaged segment is left as it is, and named; then it exits 3.",
    ],
    positionals: [.store], options: [dryRun, .segmentSize, .json], run: compactStore)

  fileprivate static let dryRun = Option(
    long: "dry-run", help: "only say how much would be freed, about; nothing is written")
}

@Sendable
private func compactStore(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  if invocation.has(Command.dryRun) { return try forecast(invocation, console) }
  let done = try invocation.withStore(.ifGiven) { store in
    try Interrupt.deferred { () throws(ToolError) in
      try console.withProgress("compacting") { progress throws(ToolError) in
        try asking { try store.compact(progress: progress) }
      }
    }
  }
  if Interrupt.isRequested { throw .interrupted }
  // An open store holds room to write into; what was gained shows once it is closed.
  let byteCountAfter = try invocation.withStore(.ifGiven, readOnly: true) { store in store.info.byteCount }
  if invocation.has(.json) {
    var json = JSONWriter()
    try json.object { json throws(ToolError) in
      json.member("bytesBefore", done.byteCountBefore)
      json.member("bytesAfter", byteCountAfter)
      json.member("segmentsRemoved", done.removedSegments)
      json.member("segmentsAdded", done.addedSegments)
      json.key("segmentsDamaged")
      try json.array { json throws(ToolError) in
        for number in done.damagedSegments { json.number(number) }
      }
    }
    json.endLine()
    try console.out.write(bytes: json.take())
  } else {
    try console.out.write(
      "\(done.byteCountBefore) bytes before, \(byteCountAfter) after; "
        + "\(counted(done.removedSegments, "segment")) became \(done.addedSegments)\n")
  }
  if done.isUnfinished {
    console.say("warning", "the disk is full, and not all was compacted: compact again")
  }
  for number in done.damagedSegments {
    console.say("error", "segment \(number) is damaged and was left as it is")
  }
  return done.damagedSegments.isEmpty ? .done : .damage
}

private func forecast(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  let forecast = try invocation.withStore(.ifGiven, readOnly: true) { store in store.compactionForecast }
  guard invocation.has(.json) else {
    try console.out.write(
      "would free about \(forecast.freedByteCount) bytes: \(counted(forecast.segments.count, "segment")), of which "
        + "\(forecast.copiedByteCount) bytes would be copied\n")
    return .done
  }
  var json = JSONWriter()
  try json.object { json throws(ToolError) in
    json.member("bytesFreed", forecast.freedByteCount)
    json.member("bytesCopied", forecast.copiedByteCount)
    json.key("segments")
    try json.array { json throws(ToolError) in
      for number in forecast.segments { json.number(number) }
    }
  }
  json.endLine()
  try console.out.write(bytes: json.take())
  return .done
}
