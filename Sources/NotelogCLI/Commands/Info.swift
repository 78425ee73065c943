// `notelog info STORE`: what a store holds and what it takes.
import Notelog

extension Command {
  static let info: Command = Command(
    words: ["info"], summary: "show size, records, segments, collections and keys",
    discussion: """
      Of a store of more than 32 MiB the values under each key are not counted: it would read all records, as 'notelog key list' does.

      No key is needed; with one, or with --unlock, the names of keys are shown as well. What lies before the floor is on the disk for certain.

      On a terminal each segment has a bar: as long as it is large, filled as far as it is live.

      With --archive it says which of the store's revisions was shipped there last.
      """,
    positionals: [.store], options: [.unlock, archive, .json], run: showInfo)

  fileprivate static let archive = Option(
    long: "archive", value: "DIR", completion: .folders, help: "say how much of the store this archive has")
}

/// How large a store may be of which all records are read, to count what is sealed under each key.
private let countedByteCount = 32 << 20

private func showInfo(_ call: Invocation) throws -> ExitCode {
  try call.withStore(.ifGiven, readOnly: true) { store in
    let isWhole = try store.hasAllSchemas()
    let collections = store.collections
    // Of the only one the index knows it.
    let counts =
      isWhole && collections.count == 1
      ? [(collection: collections[0], recordCount: store.info().recordCount)] : try store.countRecords()
    let counted = store.info().byteCount <= countedByteCount ? try store.countSealedValues() : nil
    // Afterwards: counting may have come upon damage.
    let info = store.info()
    try call.print(report(call, store, info, counts, counted))
    if info.verdict.isDamaged, store.damage.verdict == .sound {
      Console.say("hint", "'notelog verify \(call.store)' says what is damaged")
    }
    return isWhole && !info.verdict.isDamaged ? .done : .damage
  }
}

private func report(
  _ call: Invocation, _ store: Store, _ info: StoreInfo,
  _ collections: [(collection: DynamicCollection, recordCount: Int)],
  _ sealed: SealedValueCounts?
) throws -> Report {
  let damage = store.damage
  var report = Report(width: 12)
  report.row("store", info.id, ["id": info.id])
  let kept = info.keepsVersions
  let times =
    kept.map { ", versions are kept for \($0.shown), with the times of commits" }
    ?? (info.keepsCommitTimes ? ", commits have their times" : "")
  report.row(
    "branch", info.branch + times,
    [
      "branch": info.branch, "commitTimes": info.keepsCommitTimes,
      "keptSeconds": kept.map { Int($0.components.seconds) },
    ])
  let verdict: JSONValue = [
    "verdict": damage.verdict.rawValue, "lostRecords": damage.lostRecordCount,
    "staleBelow": damage.possiblyStaleBelow,
  ]
  report.row(
    "condition", "\(info.verdict.condition), \(info.wasClosed ? "closed in order" : "not closed in order")",
    ["condition": info.verdict.condition, "damage": verdict, "closedInOrder": info.wasClosed])
  let look = try? store.audit(lookingAtRecords: false)
  let isKept = store.keepsEvidence
  report.row(
    "evidence", isKept ? "kept\(look?.asOf ?? "; as of when, a key tells")" : nil,
    ["keepsEvidence": isKept, "evidenceRevision": look?.revision, "evidenceTime": look?.time?.shown])
  report.row("format", "version \(info.formatVersion)")
  report.row("floor", "segment \(info.floor.segment), offset \(info.floor.offset)")
  report.row("keyring", info.keyring, ["keyring": info.keyring])
  report.row("schemas", info.schemas, ["schemas": info.schemas])
  let memory =
    info.memoryNote
    ?? "secrets are locked in memory, out of core dumps, and wiped in forked children"
  report.row("memory", memory + "; OpenSSL's copies of keys are ordinary memory")
  let lost = damage.lostRecordCount
  report.row(
    "records",
    "\(info.recordCount)\(lost == 0 ? "" : ", of which \(lost) can't be read"), next revision \(info.nextRevision)",
    ["records": info.recordCount, "nextRevision": info.nextRevision])
  if let path = call.value(of: Command.archive) {
    let branch = try Store.branches(of: call.archive(at: path)).first { info.branch.hasPrefix($0.name) }
    let (last, time) = (branch?.revisions.upperBound ?? 0, branch?.time)
    let words = time?.shown(isUTC: false).map { ", of \($0)" } ?? ""
    report.row(
      "archive", "revision \(last) of \(max(1, info.nextRevision) - 1)\(words)",
      ["archive": ["revision": last, "time": time?.shown] as JSONValue])
  }
  report.row(
    "size",
    "\(info.byteCount) bytes, of which \(info.liveByteCount) are live\(kept == nil ? "" : ", \(info.keptByteCount) are kept of older versions,") and compaction can free \(info.deadByteCount)",
    [
      "bytes": info.byteCount, "liveBytes": info.liveByteCount, "keptBytes": info.keptByteCount,
      "deadBytes": info.deadByteCount,
    ])
  report.row(
    "space", "\(info.usedByteCount) bytes used by all files, \(info.reservedByteCount) set aside",
    ["usedBytes": info.usedByteCount, "reservedBytes": info.reservedByteCount])
  let floor: JSONValue = ["segment": info.floor.segment, "offset": info.floor.offset]
  report.add(["formatVersion": info.formatVersion, "floor": floor, "memoryNote": info.memoryNote])
  if damage.verdict != .sound {
    let others = damage.verdict == .unproven ? ", and others that nothing names" : ""
    report.row("damage", "\(damage.verdict.rawValue), \(counted(lost, "record")) known to be lost\(others)")
  }
  report.rows(
    "collection",
    collections.map {
      Escaping.line("\($0.name): \(counted($1, "record")) of \($0.words)")
    },
    [
      "collections": collections.map { collection, count -> JSONValue in
        ["name": collection.name, "records": count, "fields": collection.fieldsInUse]
      }
    ])
  report.rows("slot", info.slots.map { Escaping.line($0.words) }, ["slots": info.slots])
  report.rows(
    "key", info.keys.map { "\($0.number), \($0.shownName), \($0.keyClass), \($0.words(sealed))" },
    ["keys": info.keys.map { $0.json(sealed) }])
  let largest = info.segments.map(\.byteCount).max() ?? 1
  report.rows("segment", info.segments.map { $0.words(largest) }, ["segments": info.segments])
  return report
}

extension StoreInfo.Segment {
  /// Its size, and on a terminal a bar: its length says how large the segment is, its filled part how much of
  /// it is live.
  fileprivate func words(_ largest: Int) -> String {
    let head = isHead ? ", being written" : ""
    let words = "\(number), \(kind): \(byteCount) bytes, \(liveByteCount) live\(head)"
    guard Console.outIsTerminal else { return words }
    let length = max(1, byteCount * 20 / max(1, largest))
    let filled = liveByteCount * length / max(1, byteCount)
    return words + "  " + String(repeating: "█", count: filled)
      + String(repeating: "░", count: length - filled)
  }
}

extension DynamicCollection {
  /// Its fields in use.
  var words: String {
    fieldsInUse.map { "\($0.name) (\($0.words))" }.joined(separator: ", ")
  }
}

extension Verdict {
  /// The word for scripts, which know one kind of damage.
  var condition: String { isDamaged ? "damaged" : rawValue }
}

extension FieldInfo {
  /// Type, place and kind in a few words.
  var words: String {
    let key = keyField.map { "the key that \($0) names" } ?? "key \(keyNumber.map(String.init) ?? "?")"
    let kind = isSealed ? "sealed under \(key)" : isIndexed ? "plain, indexed" : "plain"
    let equality = revealsEquality ? ", revealing equality\(ignoresCase ? " ignoring case" : "")" : ""
    return "\(type.name), \(kind)\(equality)\(isOptional ? ", optional" : "")"
  }
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
  /// The field as `init --schema` takes it; where names of keys are locked, a key has its number instead.
  var json: JSONValue {
    [
      "name": name, "type": type.name, "sealed": isSealed, "indexed": isIndexed, "optional": isOptional,
      "padded": isPadded, "compressed": isCompressed, "key": keyName.map(\.json) ?? keyNumber?.json,
      "keyFrom": keyField, "keys": keyNames.isEmpty ? nil : keyNames,
      "revealsEquality": revealsEquality, "ignoresCase": ignoresCase,
    ]
  }
}
