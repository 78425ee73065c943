// `notelog info STORE`: what a store holds and what it takes.
import Notelog

extension Command {
  static let info: Command = Command(
    words: ["info"], summary: "show size, records, segments, collections and keys",
    discussion: [
      """
      Of a store of more than 32 MiB the values under each key are not counted: it would read all records, as 'notelog key list' does.
      """,
      "No key is needed; with one, or with --unlock, the names of keys are shown as well. What lies before the floor is on the disk for certain.",
      "On a terminal each segment has a bar: as long as it is large, filled as far as it is live.",
    ],
    positionals: [.store], options: [.unlock, .json], run: showInfo)
}

/// How large a store may be of which all records are read, to count what is sealed under each key.
private let countedByteCount = 32 << 20

private func showInfo(_ invocation: Invocation) throws -> ExitCode {
  try invocation.withStore(.ifGiven, readOnly: true) { store in
    let isWhole = try store.hasAllSchemas()
    let collections = store.collections
    // Of the only one the index knows it.
    let counts =
      isWhole && collections.count == 1
      ? [(collection: collections[0], recordCount: store.info.recordCount)] : try store.countRecords()
    let counted = store.info.byteCount <= countedByteCount ? try store.countSealedValues() : nil
    // Afterwards: counting may have come upon damage.
    let info = store.info
    try invocation.print(
      text(info, store.damage, counts, counted),
      or: json(info, store.damage, counts, counted))
    if info.condition == .damaged, store.damage.verdict == .sound {
      Console.say("hint", "'notelog verify \(invocation.store)' says what is damaged")
    }
    return isWhole && info.condition != .damaged ? .done : .damage
  }
}

private func text(
  _ info: StoreInfo, _ damage: DamageReport,
  _ collections: [(collection: DynamicCollection, recordCount: Int)],
  _ sealed: SealedValueCounts?
) -> String {
  var text = """
    store       \(info.id)
    branch      \(info.branch)\(info.keepsCommitTimes ? ", commits have their times" : "")
    condition   \(info.condition.rawValue), \(info.wasClosed ? "closed in order" : "not closed in order")
    format      version \(info.formatVersion)
    floor       segment \(info.floor.segment), offset \(info.floor.offset)
    keyring     \(info.keyring)
    schemas     \(info.schemas)
    memory      \(info.memoryNote ?? "secrets are locked in memory, out of core dumps, and wiped in forked children"); OpenSSL's copies of keys are ordinary memory
    records     \(info.recordCount)\(lostWords(damage)), next revision \(info.nextRevision)
    size        \(info.byteCount) bytes, of which \(info.liveByteCount) are live and compaction can free \(info.deadByteCount)
    space       \(info.usedByteCount) bytes used by all files, \(info.reservedByteCount) set aside

    """
  if damage.verdict != .sound {
    text +=
      "damage      \(damage.verdict.rawValue), \(counted(damage.lostRecordCount, "record")) known to be lost\(damage.verdict == .unproven ? ", and others that nothing names" : "")\n"
  }
  for (collection, count) in collections {
    text += Escaping.line(
      "collection  \(collection.name): \(counted(count, "record")) of \(collection.words)")
    text += "\n"
  }
  text += info.slots.map { Escaping.line("slot        \($0.words)") + "\n" }.joined()
  for key in info.keys {
    let name = key.name.map(Escaping.line) ?? "its name is sealed"
    text += "key         \(key.number), \(name), \(key.keyClass), \(key.words(sealed))\n"
  }
  let largest = info.segments.map(\.byteCount).max() ?? 1
  for segment in info.segments {
    let head = segment.isHead ? ", being written" : ""
    text +=
      "segment     \(segment.number), \(segment.kind): \(segment.byteCount) bytes, \(segment.liveByteCount) live\(head)"
    // The bar's length says how large the segment is, its filled part how much of it is live.
    if Console.outIsTerminal {
      let length = max(1, segment.byteCount * 20 / max(1, largest))
      let filled = segment.liveByteCount * length / max(1, segment.byteCount)
      text += "  " + String(repeating: "█", count: filled) + String(repeating: "░", count: length - filled)
    }
    text += "\n"
  }
  return text
}

/// How many of the records that are counted can't be read.
private func lostWords(_ damage: DamageReport) -> String {
  damage.lostRecordCount == 0 ? "" : ", of which \(damage.lostRecordCount) can't be read"
}

extension DynamicCollection {
  /// Its fields in use.
  var words: String {
    fieldsInUse.map { "\($0.name) (\($0.words))" }.joined(separator: ", ")
  }
}

extension FieldInfo {
  /// Type, place and kind in a few words.
  var words: String {
    let key = keyField.map { "the key that \($0) names" } ?? "key \(keyNumber.map(String.init) ?? "?")"
    let kind = isSealed ? "sealed under \(key)" : isIndexed ? "plain, indexed" : "plain"
    return "\(type.name), \(kind)\(isOptional ? ", optional" : "")"
  }
}

private func json(
  _ info: StoreInfo, _ damage: DamageReport,
  _ collections: [(collection: DynamicCollection, recordCount: Int)],
  _ sealed: SealedValueCounts?
) -> JSONValue {
  let damage: JSONValue = [
    "verdict": damage.verdict.rawValue, "lostRecords": damage.lostRecordCount,
    "staleBelow": damage.staleBelow,
  ]
  let floor: JSONValue = ["segment": info.floor.segment, "offset": info.floor.offset]
  return [
    "id": info.id, "branch": info.branch, "commitTimes": info.keepsCommitTimes,
    "condition": info.condition.rawValue, "damage": damage, "closedInOrder": info.wasClosed,
    "keyring": info.keyring, "schemas": info.schemas, "records": info.recordCount,
    "nextRevision": info.nextRevision, "bytes": info.byteCount, "liveBytes": info.liveByteCount,
    "deadBytes": info.deadByteCount, "usedBytes": info.usedByteCount,
    "reservedBytes": info.reservedByteCount, "formatVersion": info.formatVersion, "floor": floor,
    "memoryNote": info.memoryNote,
    "collections": collections.map { collection, count -> JSONValue in
      ["name": collection.name, "records": count, "fields": collection.fieldsInUse]
    },
    "slots": info.slots, "keys": info.keys.map { $0.json(sealed) }, "segments": info.segments,
  ]
}

extension StoreInfo.Slot: JSONRepresentable {
  var json: JSONValue {
    ["number": number, "kind": kind, "scryptLogN": work, "opens": grant]
  }
}

extension StoreInfo.Segment: JSONRepresentable {
  var json: JSONValue {
    ["number": number, "kind": kind, "bytes": byteCount, "liveBytes": liveByteCount, "head": isHead]
  }
}

extension FieldInfo: JSONRepresentable {
  var json: JSONValue {
    [
      "name": name, "type": type.name, "sealed": isSealed, "indexed": isIndexed, "optional": isOptional,
      "padded": isPadded, "compressed": isCompressed, "key": keyNumber, "keyName": keyName,
      "keyFrom": keyField, "keys": keyNames.isEmpty ? nil : keyNames,
    ]
  }
}
