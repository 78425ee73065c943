// `notelog verify STORE`: is all well? It never writes.
import Notelog

extension Command {
  static let verify: Command = Command(
    words: ["verify"], summary: "check structure and checksums, and with a key every sealed value",
    discussion: [
      """
      It never writes. A torn tail, left by a crash and never acknowledged, is reported and exits 0; so is an intact \
      but older copy of the keyring. Any damage exits 1.
      """
    ],
    positionals: [.store], options: [.json],
    examples: [.init(line: "notelog verify my.notelog", does: "checks what can be checked without a key")],
    run: verifyStore)
}

@Sendable
private func verifyStore(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  let credential = try SecretSource(invocation).given()
  try invocation.checkPath()
  let found: Verification
  do {
    found = try Store.verify(at: invocation.store, unlocking: credential)
  } catch {
    throw error.code == .notFound ? invocation.noStore : ToolError(error)
  }
  let code: ExitCode = found.condition == .damaged ? .no : .done
  if invocation.has(.json) {
    try console.out.write(bytes: try found.json())
    return code
  }
  var lines = [
    "structure  \(counted(found.segmentCount, "segment")), \(counted(found.frameCount, "frame")), \(found.byteCount) bytes read",
    "records    \(found.recordCount)",
  ]
  if credential == nil {
    lines.append("sealed     not opened: \(counted(found.lockedCount, "value")), no key was given")
  } else {
    let locked = found.lockedCount > 0 ? ", \(found.lockedCount) under keys that are locked" : ""
    lines.append("sealed     \(counted(found.openedCount, "value")) opened\(locked)")
  }
  if found.tornByteCount > 0 {
    lines.append("torn       \(found.tornByteCount) bytes after a crash, never acknowledged as durable")
  }
  for finding in found.findings { lines.append("finding    \(console.line(finding.words))") }
  let verdict =
    found.condition == .damaged ? console.styled("damaged", .red) : console.styled("sound", .green)
  try console.out.write((lines + ["verdict    \(verdict)"]).joined(separator: "\n") + "\n")
  return code
}

extension Verification {
  fileprivate func json() throws(ToolError) -> [UInt8] {
    var json = JSONWriter()
    try json.object { json throws(ToolError) in
      json.member("condition", condition.rawValue)
      json.member("segments", segmentCount)
      json.member("frames", frameCount)
      json.member("bytes", byteCount)
      json.member("records", recordCount)
      json.member("opened", openedCount)
      json.member("locked", lockedCount)
      json.member("tornBytes", tornByteCount)
      json.key("findings")
      try json.array { json throws(ToolError) in
        for finding in findings {
          try json.object {
            $0.member("message", finding.message)
            if let segment = finding.segment { $0.member("segment", segment) }
            if let offset = finding.offset { $0.member("offset", offset) }
            if let record = finding.record { $0.member("record", record.shown) }
          }
        }
      }
    }
    json.endLine()
    return json.take()
  }
}

extension Verification.Finding {
  /// Place and message in one line.
  fileprivate var words: String {
    var words = segment.map { "segment \($0)" } ?? ""
    if let offset { words += ", offset \(offset)" }
    if let record { words += (words.isEmpty ? "" : ", ") + "record \(record.shown)" }
    return words.isEmpty ? message : "\(words): \(message)"
  }
}
