// What records add up to, beside what a state says of it: FORMAT.md §27.

import NotelogBase
import NotelogCrypto
import NotelogFormat

/// Adds up the records of a moment.
struct Auditor: ~Copyable {
  /// The records that are named, at most.
  private static let namedCount = 5

  /// Records that are not as somebody with the key wrote them: how many, and the first.
  private struct Suspects {
    var count = 0
    var first: [RecordID] = []

    mutating func add(_ id: ID16) {
      count += 1
      if first.count < namedCount { first.append(RecordID(id)) }
    }

    var words: String {
      "\(count) record\(count == 1 ? "" : "s"): " + first.map(\.description).joined(separator: ", ")
        + (count > first.count ? ", …" : "")
    }
  }

  /// Records as queries come upon them, in a sum under a key that nobody knows.
  private struct Listing: Equatable {
    let hash: FingerprintKey
    var sum: UInt64 = 0

    mutating func add(_ id: ID16, _ revision: UInt64, _ envelope: RawSpan) {
      var mark = hash.fingerprint(of: id) ^ revision
      for place in stride(from: 0, to: envelope.byteCount, by: 8) {
        var word: UInt64 = 0
        for offset in place..<min(place + 8, envelope.byteCount) {
          word = word << 8 | UInt64(envelope.byte(at: offset))
        }
        mark = hash.fingerprint(of: ID16(low: mark, high: word))
      }
      sum &+= hash.fingerprint(of: ID16(low: mark, high: 0))
    }
  }

  private let state: EvidenceState
  /// The keys of its generations; nil where records have no seals.
  private let keys: [EvidenceKeys?]
  private var sums: [EvidenceSums]
  private(set) var recordCount = 0
  private var changed = Suspects()
  private var unsealed = Suspects()
  /// Where some can't be read, what segments list: how many there are, and what their rolls come to.
  private var listed: (count: Int, rolls: [UInt128])?
  /// What records come to by their frames, and as segments list them; and the orders that lack some.
  private var (read, listing): (Listing, Listing)
  private var hidingOrders: [OrderName] = []

  init(_ state: EvidenceState, _ vault: Vault) throws(NotelogError) {
    self.state = state
    var keys: [EvidenceKeys?] = []
    for generation in state.generations {
      keys.append(generation.reference == 0 ? nil : try .of(generation.reference, vault))
    }
    self.keys = keys
    sums = keys.map { _ in EvidenceSums() }
    let hash = FingerprintKey(low: .random(in: 0 ... .max), high: .random(in: 0 ... .max))
    (read, listing) = (Listing(hash: hash), Listing(hash: hash))
  }

  /// Adds the records of a moment. Of those that can't be read, what the segments list of them.
  mutating func add(_ moment: Snapshot) throws(NotelogError) {
    var pending: [[EvidenceTally.Element]] = keys.map { _ in [] }
    var damageCount = 0
    // Later ones may lack what is current at the moment.
    var orders = OrderComparison(of: moment.journal.storedOrders.filter { $0.since <= moment.sequence })
    do {
      try moment.forEach(onDamage: { _ in damageCount += 1 }) { record, payload, body in
        guard record.collection != SchemaRecord.collection else { return true }
        recordCount += 1
        let number = state.generation(of: record.revision)
        let seal = body.upperBound < payload.byteCount ? ID16(payload, at: body.upperBound) : nil
        try check(record, payload, body, seal, number)
        let envelope = payload.extracting(first: body.lowerBound)
        read.add(record.id, record.revision, envelope)
        orders.add(record, envelope)
        pending[number].append((record.id, record.revision, seal))
        if pending[number].count == EvidenceTally.pieceCount { try count(&pending[number], number) }
        return true
      }
      for number in pending.indices { try count(&pending[number], number) }
    } catch let error as NotelogError { throw error } catch { throw NotelogError(.cancelled, "\(error)") }
    hidingOrders = orders.findings().incomplete
    try addListed(moment, isDamaged: damageCount > 0)
  }

  private mutating func check(
    _ record: StoredRecord, _ payload: RawSpan, _ body: Range<Int>, _ seal: ID16?, _ number: Int
  ) throws(NotelogError) {
    guard let keys = keys[number] else { return }
    guard let seal else { return unsealed.add(record.id) }
    let made = try naming(
      "the store's evidence",
      keys.seal(
        record.id, record.collection, hasEnvelope: body.lowerBound > 0,
        payload.extracting(first: body.upperBound)))
    if made != seal { changed.add(record.id) }
  }

  private mutating func count(_ pending: inout [EvidenceTally.Element], _ number: Int) throws(NotelogError) {
    if let keys = keys[number] {
      sums[number] += try naming("the store's evidence", EvidenceTally.sums(of: pending, keys))
    }
    pending.removeAll(keepingCapacity: true)
  }

  /// Queries go by what segments list. Where some records can't be read, it tells what was written, too.
  private mutating func addListed(_ moment: Snapshot, isDamaged: Bool) throws(NotelogError) {
    var found: [[EvidenceTally.Element]] = keys.map { _ in [] }
    var count = 0
    try moment.forEachRecord(where: { $0.collection != SchemaRecord.collection }) { entry, envelope in
      count += 1
      listing.add(entry.id, entry.sequence, envelope)
      if isDamaged { found[state.generation(of: entry.sequence)].append((entry.id, entry.sequence, nil)) }
    }
    guard isDamaged else { return }
    var rolls: [UInt128] = []
    for (keys, found) in zip(keys, found) {
      guard let keys else {
        rolls.append(0)
        continue
      }
      rolls.append(try naming("the store's evidence", EvidenceTally.sums(of: found, keys)).roll)
    }
    listed = (count, rolls)
  }

  /// In what the records differ from the state.
  consuming func differences() throws(NotelogError) -> [String] {
    var words: [String] = []
    if changed.count > 0 { words.append("changed without the key, \(changed.words)") }
    if unsealed.count > 0 { words.append("added without the key, \(unsealed.words)") }
    let known = state.generations.map(\.sums)
    if sums.map(\.roll) != known.map(\.roll) || UInt64(recordCount) != state.recordCount {
      let count = listed?.count ?? recordCount
      // What segments list explains a difference, and never makes up for one.
      let isExplained =
        listed?.rolls == known.map(\.roll) && UInt64(count) == state.recordCount && count > recordCount
      words.append(
        isExplained
          ? "\(count - recordCount) records can't be read, and no others are missing"
          : "records were dropped, brought back or put back to other versions; \(count) are there, and \(state.recordCount) were"
      )
    } else if state.hasReplacedLost {
      words.append(
        "a version that can't be read was replaced: what else was, can't be told until it is accepted")
    } else if zip(sums, known).contains(where: { $0.seals != $1.seals }) {
      words.append("versions of records are others than were written")
    }
    if read != listing, listed == nil || listed?.count == recordCount {
      words.append(
        "what segments list is not what is in them, and queries may miss records: compact the store")
    }
    if !hidingOrders.isEmpty {
      words.append("an index lacks records, and queries may miss them: delete the file \(FileName.index)")
    }
    return words
  }

  /// The state that says of the records what they are.
  consuming func accepted() throws(NotelogError) -> EvidenceState {
    if let count = listed?.count, count > recordCount {
      throw NotelogError(.damaged, "\(count - recordCount) records can't be read: salvage the store")
    }
    var state = state
    for number in state.generations.indices { state.generations[number].sums = sums[number] }
    (state.recordCount, state.isAccepted, state.hasReplacedLost) = (UInt64(recordCount), true, false)
    return state
  }
}
