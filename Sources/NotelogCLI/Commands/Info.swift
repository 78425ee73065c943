// `notelog info STORE`: what a store holds and what it takes.
import Notelog

extension Command {
  static let info: Command = Command(
    words: ["info"], summary: "show size, records, segments, collections and keys",
    discussion: [
      "No key is needed; with one, the names of keys are shown as well. What lies before the floor is on the disk for certain.",
      "On a terminal each segment has a bar: as long as it is large, filled as far as it is live.",
    ],
    positionals: [.store], options: [.json], run: showInfo)
}

@Sendable
private func showInfo(_ invocation: Invocation, _ console: Console) throws(ToolError) -> ExitCode {
  try invocation.withStore(.ifGiven, readOnly: true) { store in
    let info = store.info
    let isWhole = try store.hasAllSchemas(console)
    if invocation.has(.json) {
      try console.out.write(bytes: try json(info, store.damage, store.collections))
    } else {
      try console.out.write(text(info, store.damage, store.collections, console))
    }
    return isWhole ? .done : .damage
  }
}

private func text(
  _ info: StoreInfo, _ damage: DamageReport, _ collections: [DynamicCollection], _ console: Console
) throws(ToolError) -> String {
  var text = """
    store       \(info.id)
    condition   \(info.condition.rawValue), \(info.wasClosed ? "closed in order" : "not closed in order")
    format      version \(info.formatVersion)
    floor       segment \(info.floor.segment), offset \(info.floor.offset)
    keyring     \(info.keyring)
    schemas     \(info.schemas)
    memory      \(info.memoryNote ?? "secrets are locked in memory, out of core dumps, and wiped in forked children"); OpenSSL's copies of keys are ordinary memory
    records     \(info.recordCount), next revision \(info.nextRevision)
    size        \(info.byteCount) bytes, of which \(info.liveByteCount) are live and \(info.deadByteCount) dead

    """
  if damage.verdict != .sound {
    text +=
      "damage      \(damage.verdict.rawValue), \(counted(damage.lostRecordCount, "record")) known to be lost\n"
  }
  for collection in collections {
    let count = try recordCount(of: collection)
    let fields = collection.fields.filter { !$0.isRetired }.map { "\($0.name) (\($0.words))" }
    text += console.line(
      "collection  \(collection.name): \(counted(count, "record")) of \(fields.joined(separator: ", "))")
    text += "\n"
  }
  for slot in info.slots {
    text += "slot        \(slot.number), \(slot.kind)\(slot.work.map { ", scrypt 2^\($0)" } ?? "")\n"
  }
  for key in info.keys {
    let name = key.name.map(console.line) ?? "its name is sealed"
    text += "key         \(key.number), \(name), \(key.keyClass)\n"
  }
  let largest = info.segments.map(\.byteCount).max() ?? 1
  for segment in info.segments {
    let head = segment.isHead ? ", being written" : ""
    text +=
      "segment     \(segment.number), \(segment.kind): \(segment.byteCount) bytes, \(segment.liveByteCount) live\(head)"
    // The bar's length says how large the segment is, its filled part how much of it is live.
    if console.outIsTerminal {
      let length = max(1, segment.byteCount * 20 / max(1, largest))
      let filled = segment.liveByteCount * length / max(1, segment.byteCount)
      text += "  " + String(repeating: "█", count: filled) + String(repeating: "░", count: length - filled)
    }
    text += "\n"
  }
  return text
}

extension StoreInfo {
  /// Old versions and removed records, and what the files take for themselves.
  fileprivate var deadByteCount: Int { max(0, byteCount - liveByteCount) }
}

extension FieldInfo {
  /// Type, place and kind in a few words.
  fileprivate var words: String {
    let kind =
      isSealed
      ? "sealed under key \(keyNumber.map(String.init) ?? "?")" : isIndexed ? "plain, indexed" : "plain"
    return "\(type.name), \(kind)\(isOptional ? ", optional" : "")"
  }
}

private func json(
  _ info: StoreInfo, _ damage: DamageReport, _ collections: [DynamicCollection]
) throws(ToolError) -> [UInt8] {
  var json = JSONWriter()
  try json.object { json throws(ToolError) in
    json.member("id", info.id)
    json.member("condition", info.condition.rawValue)
    json.key("damage")
    try json.object {
      $0.member("verdict", damage.verdict.rawValue)
      $0.member("lostRecords", damage.lostRecordCount)
      $0.member("staleBelow", damage.staleBelow)
    }
    json.member("closedInOrder", info.wasClosed)
    json.member("keyring", info.keyring)
    json.member("schemas", info.schemas)
    json.member("records", info.recordCount)
    json.member("nextRevision", info.nextRevision)
    json.member("bytes", info.byteCount)
    json.member("liveBytes", info.liveByteCount)
    json.member("deadBytes", info.deadByteCount)
    json.member("formatVersion", info.formatVersion)
    json.key("floor")
    try json.object {
      $0.member("segment", info.floor.segment)
      $0.member("offset", info.floor.offset)
    }
    if let note = info.memoryNote { json.member("memoryNote", note) }
    json.key("collections")
    try json.array { json throws(ToolError) in
      for collection in collections { try write(collection, to: &json) }
    }
    json.key("slots")
    try json.array { json throws(ToolError) in
      for slot in info.slots {
        try json.object {
          $0.member("number", slot.number)
          $0.member("kind", slot.kind)
          if let work = slot.work { $0.member("scryptLogN", work) }
        }
      }
    }
    json.key("keys")
    try json.array { json throws(ToolError) in
      for key in info.keys {
        try json.object {
          $0.member("number", key.number)
          if let name = key.name { $0.member("name", name) }
          $0.member("class", key.keyClass)
        }
      }
    }
    json.key("segments")
    try json.array { json throws(ToolError) in
      for segment in info.segments {
        try json.object {
          $0.member("number", segment.number)
          $0.member("kind", segment.kind)
          $0.member("bytes", segment.byteCount)
          $0.member("liveBytes", segment.liveByteCount)
          $0.member("head", segment.isHead)
        }
      }
    }
  }
  json.endLine()
  return json.take()
}

private func recordCount(of collection: DynamicCollection) throws(ToolError) -> Int {
  do { return try collection.count } catch { throw ToolError(error) }
}

private func write(_ collection: DynamicCollection, to json: inout JSONWriter) throws(ToolError) {
  try json.object { json throws(ToolError) in
    json.member("name", collection.name)
    json.member("records", try recordCount(of: collection))
    json.key("fields")
    try json.array { json throws(ToolError) in
      for field in collection.fields where !field.isRetired {
        try json.object {
          $0.member("name", field.name)
          $0.member("type", field.type.name)
          $0.member("sealed", field.isSealed)
          $0.member("indexed", field.isIndexed)
          $0.member("optional", field.isOptional)
          $0.member("padded", field.isPadded)
          $0.member("compressed", field.isCompressed)
          if let key = field.keyNumber { $0.member("key", key) }
          if let name = field.keyName { $0.member("keyName", name) }
        }
      }
    }
  }
}
