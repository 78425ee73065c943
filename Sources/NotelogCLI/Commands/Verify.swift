// `notelog verify STORE`: is all well? It never writes.
import Notelog

extension Command {
  static let verify: Command = Command(
    words: ["verify"], summary: "check structure and checksums, and with a key every sealed value",
    discussion: [
      """
      Structure, index, keyring and records are checked without a key; the tags of sealed values with one. Each is \
      reported by itself.
      """,
      """
      It never writes. A torn tail, as a crash leaves it and nothing says it was durable, is reported and exits 0; so is an intact \
      but older copy of the keyring. Any damage exits 1.
      """,
      "A backup's folder is verified as the store that it would be restored to, with all files of the backup.",
    ],
    positionals: [.store], options: [.json],
    examples: [
      .init(line: "notelog verify my.notelog", does: "checks what can be checked without a key")
    ],
    run: verifyStore)
}

@Sendable
private func verifyStore(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  let credential = try SecretSource(invocation).given()
  try invocation.checkPath()
  let found = try console.withProgress("verifying") { progress throws(ToolError) in
    do throws(NotelogError) {
      return try Store.verify(at: invocation.store, unlocking: credential, progress: progress)
    } catch {
      throw error.code == .notFound ? invocation.noStore : ToolError(error)
    }
  }
  if invocation.has(.json) {
    var json = JSONWriter()
    try found.write(to: &json)
    json.endLine()
    try console.out.write(bytes: json.take())
  } else {
    let verdict =
      found.condition == .damaged ? console.styled("damaged", .red) : console.styled("sound", .green)
    try console.out.write((found.parts(console) + ["verdict    \(verdict)"]).joined(separator: "\n") + "\n")
  }
  return found.condition == .damaged ? .no : .done
}

extension Verification {
  /// Part by part what was checked, then what was found.
  func parts(_ console: Console) -> [String] {
    var lines =
      backup.map { backup in
        ["backup     of store \(backup.storeID?.shown ?? "unknown"), \(counted(backup.partCount, "part"))"]
      } ?? []
    lines += [
      "structure  \(words(.structure, console)): \(counted(segmentCount, "segment")), "
        + "\(counted(frameCount, "frame")), \(byteCount) bytes read",
      "index      \(words(.index, console))",
      "keyring    \(words(.keyring, console))",
      "records    \(words(.records, console)): \(counted(recordCount, "record")) read",
    ]
    if !wasUnlocked {
      lines.append("tags       not checked: \(counted(lockedCount, "sealed value")), no key was given")
    } else {
      let locked = lockedCount > 0 ? ", \(lockedCount) under keys that are locked" : ""
      lines.append("tags       \(words(.tags, console)): \(counted(openedCount, "value")) opened\(locked)")
    }
    if tornByteCount > 0 {
      lines.append(
        "torn       \(tornByteCount) bytes behind what is known to be durable, as a crash leaves them")
    }
    return lines + findings.map { "finding    \(console.line($0.words))" }
  }

  private func words(_ part: Part, _ console: Console) -> String {
    isSound(part) ? "sound" : console.styled("damaged", .red)
  }

  /// The verification as one JSON object.
  func write(to json: inout JSONWriter) throws(ToolError) {
    try json.object { json throws(ToolError) in
      json.member("condition", condition.rawValue)
      if let backup {
        json.member("backupOf", backup.storeID?.shown ?? "")
        json.member("backupParts", backup.partCount)
      }
      json.key("parts")
      try json.object {
        for part in Part.allCases {
          let word = part == .tags && !wasUnlocked ? "unchecked" : isSound(part) ? "sound" : "damaged"
          $0.member(part.rawValue, word)
        }
      }
      json.member("segments", segmentCount)
      json.member("frames", frameCount)
      json.member("bytes", byteCount)
      json.member("records", recordCount)
      json.member("opened", openedCount)
      json.member("locked", lockedCount)
      json.member("tornBytes", tornByteCount)
      try json.findings(findings)
    }
  }
}

extension JSONWriter {
  /// The list of what was found.
  mutating func findings(_ findings: [Verification.Finding]) throws(ToolError) {
    key("findings")
    try array { json throws(ToolError) in
      for finding in findings {
        try json.object {
          $0.member("part", finding.part.rawValue)
          $0.member("damage", finding.isDamage)
          $0.member("message", finding.message)
          if let segment = finding.segment { $0.member("segment", segment) }
          if let offset = finding.offset { $0.member("offset", offset) }
          if let record = finding.record { $0.member("record", record.shown) }
        }
      }
    }
  }
}

extension Verification.Finding {
  /// Place and message in one line.
  var words: String {
    var words = segment.map { "segment \($0)" } ?? ""
    if let offset { words += ", offset \(offset)" }
    if let record { words += (words.isEmpty ? "" : ", ") + "record \(record.shown)" }
    return words.isEmpty ? message : "\(words): \(message)"
  }
}
