// Keeps the evidence of an open store: the seals' keys, and the state in each transaction. FORMAT.md §27.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import Synchronization

/// Adds to each transaction what all records add up to, and checks what it finds of it.
final class EvidenceKeeper: Attester {
  /// What is known from one transaction to the next, by whoever has the turn.
  private struct Known {
    /// The state of the last transaction that has its place, and where its frame is.
    var state: EvidenceState?
    var location: Location?
    /// The state that a transaction in the making gets, but for what it adds itself; and with that.
    var next: EvidenceState?
    var sealed: EvidenceState?
    var keys: EvidenceKeys?
    /// What the schemas come to, and at which epoch.
    var schemas: (epoch: UInt64, digest: ID16)?
  }

  private unowned let store: Store
  private let storeID: ID16
  private let known = Lock(Known())
  /// Why what the store shows may not be what it held; nothing is written then.
  let alarm = Lock<Finding?>(nil)
  /// What was seen of the store before.
  private let head: Lock<StoreHead?>
  /// Who writes here, as heads know it: in each opening somebody else. On a line that is gone the one before may have
  /// written more than its head says (INV-W6).
  private let writer = UInt64.random(in: 1 ... .max)

  init(_ store: Store, _ head: StoreHead?) {
    self.store = store
    storeID = store.storeID
    self.head = Lock(head)
  }

  /// Compares from now on with what was seen of the store before.
  func expect(_ head: StoreHead) { self.head.withLock { $0 = head } }

  /// Refuses to write where what the store shows may not be what it held.
  func refuseAlarm() throws(NotelogError) {
    guard let alarm = alarm.withLock({ $0 }) else { return }
    throw NotelogError(tampered: "\(alarm.message): accept what is there, or restore the store")
  }

  private func keys(_ reference: UInt32) throws(NotelogError) -> EvidenceKeys {
    let keys = try EvidenceKeys.of(reference, store.vault, known: known.withLock { $0.keys })
    known.withLock { $0.keys = keys }
    return keys
  }

  // MARK: - The state

  /// What is said by the state's record.
  ///
  /// - Parameters:
  ///   - payload: The record's body.
  ///   - sequence: Its revision.
  /// - Returns: The state.
  /// - Throws: `tampered` where it is not this store's, of that revision; `locked`.
  func open(_ payload: RawSpan, _ sequence: UInt64) throws(NotelogError) -> EvidenceState {
    let overhead = 8 + RecordBody.sealOverhead
    guard payload.byteCount >= overhead else { throw missing }
    let reference = payload.load(UInt32.self, at: 0)
    guard payload.load(UInt32.self, at: 4) == 0 else { throw missing }
    // Whoever was granted another key could make a state under it.
    let row = store.vault.keyring.dataKey(KeyReference(rawValue: reference))
    guard let row, row.number == store.vault.keyring.evidenceKey?.number else {
      throw NotelogError(tampered: "the keyring is older than the state of the store")
    }
    let key = try store.vault.sealingKey(reference, for: "the store's evidence")
    let data = EvidenceKeys.additionalData(storeID, sequence, reference)
    var buffer = Buffer()
    buffer.resizeForReading(to: payload.byteCount - overhead)
    do throws(CryptoError) {
      var target = buffer.mutableBytes
      try key.open(payload.extracting(droppingFirst: 8), additionalData: data.bytes, into: &target)
    } catch {
      if error == .tampered { throw missing }
      throw NotelogError(crypto: error, "the store's evidence")
    }
    guard let state = EvidenceState(buffer.bytes) else { throw missing }
    return state
  }

  var missing: NotelogError {
    NotelogError(tampered: "the store's evidence is missing, or not of this store and revision")
  }

  /// The state as it is now, or was at a moment.
  func load(_ moment: Snapshot? = nil) throws(NotelogError) -> (state: EvidenceState, sequence: UInt64) {
    var buffer = ReadBuffer()
    let id = FrameHeader.stateID
    let found: StoredRecord?
    if let moment {
      found = try moment.read(id, into: &buffer)
    } else {
      found = try store.journal.records.read(id, into: &buffer)
    }
    guard let record = found else { throw missing }
    return (try open(buffer.body, record.revision), record.revision)
  }

  /// What is wrong with a state at a first look, without looking at records.
  func fault(of state: EvidenceState, at sequence: UInt64) throws(NotelogError) -> String? {
    let keyring = store.vault.evidence
    if keyring.generation < state.keyringGeneration {
      return "the keyring is an older one than the store had"
    }
    if keyring.generation == state.keyringGeneration, keyring.digest != state.keyringDigest {
      return "the keyring is another copy's than the store had"
    }
    if try schemaDigest() != state.schemas, try loggedSchemaDigest() != state.schemas {
      return "the schemas are others than the store had"
    }
    guard let head = head.withLock({ $0 }) else { return nil }
    guard head.store == UInt32(truncatingIfNeeded: storeID.low) else {
      return "the head is another store's"
    }
    return head.fault(of: state, at: sequence, tag: try tag(of: state))
  }

  /// What all schemas come to behind a batch.
  private func schemaDigest(with batch: borrowing Batch) throws(NotelogError) -> ID16 {
    guard
      batch.frames.contains(where: { $0.header.collection == SchemaRecord.collection && !$0.header.isState })
    else { return try schemaDigest() }
    var all = store.registry.withLock { $0.byNumber.mapValues { ($0.bytes, $0.mac) } }
    for frame in batch.frames where frame.header.collection == SchemaRecord.collection {
      guard let number = SchemaRecord.number(frame.header.id), frame.header.kind == .record else { continue }
      let value = batch.buffer.bytes.extracting(frame.body).extracting(
        droppingFirst: DirectoryWriter.byteCount(fieldCount: 1))
      all[UInt16(number)] = (value.array(), [])
    }
    let sorted = all.sorted { $0.key < $1.key }.map { (bytes: $0.value.0, mac: $0.value.1) }
    return ID16(try naming("the store's evidence", Keyring.digest(of: sorted)))
  }

  /// Without those that the file `schemas` alone has: a crash leaves it with what no transaction stored.
  private func loggedSchemaDigest() throws(NotelogError) -> ID16 {
    let logged = store.registry.withLock { registry in
      registry.byNumber.filter { registry.recordRevisions[SchemaRecord.key($0.key)] != nil }.sealed
    }
    return ID16(try naming("the store's evidence", Keyring.digest(of: logged)))
  }

  private func schemaDigest() throws(NotelogError) -> ID16 {
    let epoch = store.schemaEpoch.load(ordering: .acquiring)
    if let schemas = known.withLock({ $0.schemas }), schemas.epoch == epoch { return schemas.digest }
    let all = store.registry.withLock { $0.byNumber.sealed }
    let digest = ID16(try naming("the store's evidence", Keyring.digest(of: all)))
    known.withLock { $0.schemas = (epoch, digest) }
    return digest
  }

  /// The state as it is now, or at a moment, and what is wrong with it.
  ///
  /// - Parameter moment: Takes the moment. It is asked again as long as something is wrong: schemas are known a little
  ///   before, or after, the transaction that stores them can be seen.
  /// - Returns: The moment, the state, the transaction that it is of, and what is wrong.
  /// - Throws: `tampered` where there is none that opens; `locked`, `damaged`.
  func examine(
    _ moment: () -> Snapshot?
  ) throws(NotelogError) -> (moment: Snapshot?, state: EvidenceState, sequence: UInt64, fault: String?) {
    var left = 3
    while true {
      let moment = moment()
      let (state, sequence) = try load(moment)
      let fault = try fault(of: state, at: sequence)
      if fault == nil || left == 0 { return (moment, state, sequence, fault) }
      left -= 1
      try? store.journal.log.waitUntilQuiet()
      store.journal.awaitFollowing()
    }
  }

  /// Looks at the state, as soon as somebody has the key.
  func check() {
    do throws(NotelogError) {
      if let fault = try examine({ nil }).fault { throw NotelogError(tampered: fault) }
    } catch {
      // Where the state itself is damaged, nobody knows what else is.
      if error.code == .tampered || error.code == .damaged {
        alarm.withLock { $0 = Finding(error, .evidence) }
      }
    }
  }

  private func tag(of state: EvidenceState) throws(NotelogError) -> UInt64 {
    let keys = try keys(state.generations.last?.reference ?? 0)
    return try naming("the store's evidence", keys.tag(of: state))
  }

  /// What is to be kept of the state as it is, which is durable.
  func makeHead() throws(NotelogError) -> StoreHead {
    try refuseAlarm()
    let (state, sequence) = try load()
    let head = head.withLock { $0 }
    // Until something is written here, it is whoever wrote before.
    let known = [writer, head?.writer].lazy.compactMap { id in state.writers.first { $0.id == id } }.first
    return StoreHead(
      store: UInt32(truncatingIfNeeded: storeID.low), writer: known?.id ?? head?.writer ?? writer,
      seen: sequence, own: known?.last ?? head?.own ?? 0, tag: try tag(of: state))
  }

  /// The state without a generation that no record is of any more.
  func without(_ reference: UInt32) throws(NotelogError) -> EvidenceState {
    var state = try latest().state
    guard let index = state.generations.firstIndex(where: { $0.reference == reference }) else { return state }
    guard state.generations.remove(at: index).sums == EvidenceSums(), !state.generations.isEmpty else {
      throw NotelogError(tampered: "records are missing that had seals under generation \(reference)")
    }
    if index == 0 {
      let first = state.generations[0]
      state.generations[0] = .init(reference: first.reference, start: 0, sums: first.sums)
    }
    return state
  }

  /// Forgets what was seen before: somebody accepted what is there.
  func forget() {
    head.withLock { $0 = nil }
    alarm.withLock { $0 = nil }
  }

  /// Takes a state for the one before the next transaction. The caller has the turn.
  func begin(_ state: EvidenceState) throws(NotelogError) {
    let location = try fromStorage(store.journal.catalog.location(of: FrameHeader.stateID))
    known.withLock { ($0.state, $0.location) = (state, location) }
  }

  // MARK: - Transactions

  func prepare(_ batch: inout Batch) throws(NotelogError) {
    batch.removeState()
    guard batch.hasVersions || batch.isTouch else { return }
    let hasRecords = batch.frames.contains { $0.header.kind.isVersion && $0.header.collection != 0 }
    let keyring = store.vault.evidence
    let current = keyring.reference
    // Schemas may be mended without the key.
    if !hasRecords, store.vault.refusal(of: KeyReference(rawValue: current)) != nil { return }
    if !batch.isTouch { try refuseAlarm() }
    let isSealed = batch.frames.allSatisfy {
      $0.header.kind != .record || $0.header.collection == SchemaRecord.collection || $0.header.hasSeal
    }
    guard isSealed, [0, current].contains(batch.sealReference) else {
      throw NotelogError(.conflict, "the key of the store's evidence changed since; put these records again")
    }
    var (state, place) = try latest()
    var replaced: [EvidenceTally.Element] = []
    var buffer = ReadBuffer()
    for (index, frame) in batch.frames.enumerated() where isCounted(frame, at: index, batch) {
      if frame.header.kind == .record { state.recordCount &+= 1 }
      guard let location = batch.previousVersions[index].location, !location.isTombstone else { continue }
      state.recordCount &-= 1
      do throws(NotelogError) {
        // Compaction may have moved it since it was looked up.
        guard let stored = try store.journal.records.read(frame.header.id, into: &buffer) else {
          throw NotelogError(lost: location.place)
        }
        if frame.carries { try check(stored, buffer, state) }
        replaced.append((frame.header.id, location.sequence, buffer.seal))
      } catch {
        guard error.code == .damaged, !frame.carries else { throw error }
        state.hasReplacedLost = true
        replaced.append((frame.header.id, location.sequence, nil))
      }
    }
    for (number, generation) in state.generations.enumerated()
    where generation.reference != 0 && !replaced.isEmpty {
      let gone = replaced.filter { state.generation(of: $0.revision) == number }
      let keys = try keys(generation.reference)
      state.generations[number].sums -= try naming(
        "the store's evidence", EvidenceTally.sums(of: gone, keys))
    }
    if state.generations.last?.reference != current {
      guard state.generations.count < EvidenceState.generationsMax else {
        throw NotelogError(
          .limitExceeded, "the key of the store's evidence was changed too often: rotate it to the end")
      }
      // Its start is known once the transaction has a number.
      state.generations.append(.init(reference: current, start: .max))
    }
    state.note(writer, instead: head.withLock { $0?.writer }, at: .max)
    (state.keyringGeneration, state.keyringDigest) = (keyring.generation, keyring.digest)
    known.withLock { $0.next = state }
    let byteCount = 8 + RecordBody.sealOverhead + state.byteCount
    batch.put(FrameHeader.stateID, collection: SchemaRecord.collection, bodyByteCount: byteCount) { _ in }
    batch.previousVersions.append(place)
  }

  /// Whether a frame is what a record of the app's is behind the transaction.
  private func isCounted(_ frame: PendingFrame, at index: Int, _ batch: borrowing Batch) -> Bool {
    frame.header.kind.isVersion && frame.header.collection != SchemaRecord.collection
      && (!batch.isSearched || batch.frame(of: frame.header.id) == index)
  }

  /// The state before the transaction whose turn it is, and where its frame is.
  private func latest() throws(NotelogError) -> (state: EvidenceState, place: Catalog.PreviousVersion) {
    let held = known.withLock { (state: $0.state, location: $0.location) }
    let seen = held.location?.sequence ?? 0
    let catalog = store.journal.catalog
    var place = catalog.beginLookup(of: FrameHeader.stateID)
    place.location = held.location
    if let state = held.state, store.journal.log.isUnderWay(seen) { return (state, place) }
    try fromStorage(catalog.find(&place, of: FrameHeader.stateID))
    if let state = held.state, place.location?.sequence ?? 0 == seen { return (state, place) }
    do throws(NotelogError) {
      try store.journal.log.waitUntilQuiet()
      let (state, sequence) = try load()
      if sequence < seen { throw NotelogError(tampered: "the store is older than it was") }
      if let fault = try fault(of: state, at: sequence) { throw NotelogError(tampered: fault) }
      return (state, place)
    } catch {
      if error.code == .tampered { alarm.withLock { $0 = Finding(error, .evidence) } }
      throw error
    }
  }

  /// Refuses a version that is to be carried over, and is not as somebody with the key wrote it.
  func check(
    _ record: StoredRecord, _ buffer: borrowing ReadBuffer, _ state: EvidenceState? = nil
  ) throws(NotelogError) {
    var state = state
    if state == nil { state = try latest().state }
    let reference = state?.reference(of: record.revision) ?? 0
    if reference == 0 { return }
    let keys = try keys(reference)
    let seal = try naming(
      "the store's evidence",
      keys.seal(
        record.id, record.collection, hasEnvelope: !buffer.envelope.isEmpty, buffer.unsealedPayload))
    guard seal == buffer.seal else {
      let id = RecordID(record.id)
      throw NotelogError(
        tampered: "record \(id) is not as somebody with the key wrote it: put it anew, or delete it"
      ).of(id)
    }
  }

  func seal(_ batch: inout Batch, _ sequence: UInt64) throws(NotelogError) {
    guard batch.frames.last?.header.isState == true, var state = known.withLock({ $0.next }),
      let reference = state.generations.last?.reference
    else { return }
    let keys = try keys(reference)
    let newest = state.generations.count - 1
    if state.generations[newest].start == .max { state.generations[newest].start = sequence }
    state.note(writer, at: sequence)
    state.time = store.journal.options.clock()
    state.schemas = try schemaDigest(with: batch)
    state.branch = store.journal.log.branch.id.low
    do throws(CryptoError) {
      var added: [EvidenceTally.Element] = []
      for (index, frame) in batch.frames.enumerated()
      where isCounted(frame, at: index, batch) && frame.header.kind == .record {
        added.append((frame.header.id, sequence, ID16(batch.buffer.bytes, at: frame.body.upperBound)))
      }
      state.generations[newest].sums += try EvidenceTally.sums(of: added, keys)
      var plain = Buffer()
      state.append(to: &plain)
      let data = EvidenceKeys.additionalData(storeID, sequence, reference)
      var nonces = NonceRun()
      try batch.fillLast { target throws(CryptoError) in
        target.store(reference, at: 0)
        var sealed = target.part(from: 8)
        try keys.data.seal(plain.bytes, additionalData: data.bytes, nonces: &nonces, into: &sealed)
      }
    } catch { throw NotelogError(crypto: error, "the store's evidence") }
    known.withLock { $0.sealed = state }
  }

  func note(_ reservation: Log.Reservation, of batch: borrowing Batch) {
    guard let frame = batch.frames.last, frame.header.isState else { return }
    var header = frame.header
    header.sequence = reservation.sequence
    let entry = FooterEntry(header, offset: reservation.offset + frame.start, envelopeByteCount: 0)
    known.withLock {
      ($0.state, $0.location) = ($0.sealed, Location(entry, segment: reservation.segment.number))
    }
  }
}

extension Store {
  /// The name of the key that evidence is made with: `rotate(_:_:)` takes it as any other.
  public static let evidenceKeyName = "notelog.evidence"

  func makeEvidence() throws(NotelogError) {
    try changeKeyring("keeping evidence") { change throws(CryptoError) in
      try change.addKey(named: Self.evidenceKeyName, class: .afterFirstUnlock, isEvidence: true)
    }
    beginEvidence()
    try touchEvidence { () throws(NotelogError) in
      let count = try self.journal.snapshot().recordCounts(besides: [SchemaRecord.collection]).values.reduce(
        0, +)
      // Those that are there have no seals.
      let reference = count == 0 ? self.vault.keyring.evidenceKey?.current.rawValue ?? 0 : 0
      var state = EvidenceState(generations: [.init(reference: reference, start: 0)])
      state.recordCount = UInt64(count)
      return state
    }
  }

  /// Commits the state alone, as it is or as it is said to be.
  func touchEvidence(
    _ state: () throws(NotelogError) -> EvidenceState? = { () throws(NotelogError) in nil }
  ) throws(NotelogError) {
    guard let keeper = evidence.withLock({ $0 }) else { return }
    do {
      try journal.write { batch in
        if let state = try state() { try keeper.begin(state) }
        batch.isTouch = true
      }
    } catch let error as NotelogError { throw error } catch {
      throw NotelogError(.invalidArgument, "\(error)")
    }
  }

  /// Whether records have no seals, as they are from before evidence was kept.
  var hasUnsealedRecords: Bool {
    (try? evidence.withLock { $0 }?.load())?.state.generations.first?.reference == 0
  }

  /// Begins to keep evidence, where the keyring says so; where only what is there of it does, or a head, that is an alarm.
  func beginEvidence(_ head: StoreHead? = nil) {
    guard
      vault.keyring.evidenceKey != nil || head != nil
        || journal.catalog.listed.entries.contains(where: { $0.id == FrameHeader.stateID })
    else { return }
    evidence.withLock { keeper in
      guard keeper == nil else { return }
      let made = EvidenceKeeper(self, head)
      keeper = made
      journal.attester.withLock { $0 = made }
    }
  }
}

extension NotelogError {
  /// What the store shows is not what it held.
  init(tampered message: String) { self.init(.tampered, message) }
}
