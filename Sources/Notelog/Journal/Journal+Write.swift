// Writing: blind batches side by side, closures one at a time. FORMAT.md §6.

import NotelogFormat
import NotelogStorage
import NotelogBase

extension Journal {
  /// Commits a batch that was made without reading.
  ///
  /// Batches of several threads are written side by side; each is visible, and acknowledged, after all that
  /// came before. A batch that was committed is empty; one for which there was no room may be committed
  /// again. An empty one writes nothing, and keeps the promise all the same: a durable one returns when
  /// everything before it is durable.
  ///
  /// - Parameters:
  ///   - batch: The batch.
  ///   - durability: What it survives.
  ///   - seesAll: Whether the check sees everything that came before: then what others write is waited for.
  ///   - check: Called when nobody else decides any more what is written before it, unless the batch is
  ///     empty; what it throws refuses the batch, which is as it was.
  /// - Returns: The transaction's sequence number: the revision of what it wrote. Of an empty batch, the last
  ///   one's before it.
  /// - Throws: `full`, `poisoned`, `closed`, `alreadyExists`, `limitExceeded`, and what the check throws.
  @discardableResult
  func commit(
    _ batch: inout Batch, _ durability: Durability = .durable, seesAll: Bool = false,
    checking check: (borrowing Batch) throws(NotelogError) -> Void = { (_) throws(NotelogError) in }
  ) throws(NotelogError) -> UInt64 {
    try checkWritable()
    if batch.isEmpty { return try durability == .durable ? awaitAllDurable() : lastSequence }
    // What the batch replaces may be another process's until the lock is taken.
    let looksLater = seesAll || options.isLeased
    let seen = log.state.withLock(waking: .nobody) { $0.nextVisible }
    if !looksLater { try log.lookUp(&batch) }
    let reservation: Log.Reservation
    do {
      try takeTurn()
      defer { log.turn.leave() }
      let attester = attester.withLock { $0 }
      let isSame =
        attester == nil ? log.isUncontested(batch, since: seen) : log.isUntouched(batch, since: seen)
      if looksLater || !isSame {
        try checkWritable()
        try log.waitUntilQuiet()
        try log.lookUp(&batch)
      }
      try check(batch)
      try attester?.prepare(&batch)
      reservation = try reserve(for: &batch, durability)
    }
    let byteCount = batch.byteCount
    try finish(reservation, &batch, durability)
    keepSpaceContract(written: byteCount)
    if options.isLeased { yieldIfWanted() }
    return reservation.sequence
  }

  /// Takes the lock where it is leased, and returns the last transaction's number when that is durable.
  private func awaitAllDurable() throws(NotelogError) -> UInt64 {
    let last: UInt64
    do {
      try takeTurn()
      defer { log.turn.leave() }
      last = try lastWritable()
    }
    try log.awaitDurable(last)
    return last
  }

  /// Reserves space for a batch. The caller has the turn.
  private func reserve(
    for batch: inout Batch, _ durability: Durability
  ) throws(NotelogError) -> Log.Reservation {
    let keepsContract = options.compactsAutomatically
    if keepsContract {
      let growth = growth(by: batch.byteCount + batch.footerByteCount)
      log.space.promise(growth)
      waitForRoom(growth)
    }
    defer { if keepsContract { log.space.promise(0) } }
    do { return try reserveNow(for: &batch, durability) } catch {
      // What is dead makes room for what is written.
      guard error.code == .full, keepsContract, compactOnFullDisk() else { throw error }
      return try reserveNow(for: &batch, durability)
    }
  }

  /// Reserves space for a batch, whatever the space contract says.
  func reserveNow(
    for batch: inout Batch, _ durability: Durability
  ) throws(NotelogError) -> Log.Reservation {
    let held = log.enterGate()
    defer { log.leaveGate() }
    let attester = attester.withLock { $0 }
    try attester?.seal(&batch, log.state.withLock(waking: .nobody) { $0.nextSequence })
    let reservation = try log.reserve(held, for: batch, durability)
    attester?.note(reservation, of: batch)
    return reservation
  }

  /// Runs a closure that reads before it writes, alone: it sees everything that came before it.
  ///
  /// What the closure throws is thrown, and nothing is written. An empty batch writes nothing; with
  /// `durable`, what the closure has read is durable then.
  ///
  /// - Parameters:
  ///   - durability: What the transaction survives.
  ///   - numbered: Called with the transaction's sequence number, once it has one: before it is visible, and
  ///     before anybody else has the turn.
  ///   - body: The closure.
  /// - Returns: What the closure returns.
  /// - Throws: What the closure throws, or what stood in the way. After `poisoned` the transaction may be
  ///   visible here, and is whole or absent once the store is opened again: a failed sync says nothing of
  ///   what the medium holds.
  func write<Result>(
    _ durability: Durability = .durable, numbered: (UInt64) -> Void = { _ in },
    _ body: (inout Batch) throws -> Result
  ) throws -> Result {
    var batch = Batch()
    let result: Result
    // Nothing where the closure changed nothing; then what it has seen is to become durable.
    let reservation: Log.Reservation?
    let seen: UInt64
    do {
      try takeTurn()
      defer { log.turn.leave() }
      try checkWritable()
      try log.waitUntilQuiet()
      result = try body(&batch)
      seen = batch.isEmpty && durability == .durable ? try lastWritable() : 0
      try log.lookUp(&batch)
      try attester.withLock { $0 }?.prepare(&batch)
      reservation = batch.isEmpty ? nil : try reserve(for: &batch, durability)
      if let reservation { numbered(reservation.sequence) }
    }
    guard let reservation else {
      try log.awaitDurable(seen)
      return result
    }
    let byteCount = batch.byteCount
    try finish(reservation, &batch, durability)
    keepSpaceContract(written: byteCount)
    if options.isLeased { yieldIfWanted() }
    return result
  }

  /// Reads a record as the transaction sees it that a batch will be.
  func read(
    _ id: ID16, as batch: borrowing Batch, into buffer: inout ReadBuffer
  ) throws(NotelogError) -> StoredRecord? {
    guard let index = batch.frame(of: id) else { return try records.read(id, into: &buffer) }
    let frame = batch.frames[index]
    if frame.header.kind == .tombstone { return nil }
    return buffer.copy(
      batch.buffer.bytes.extracting(frame.payload), frame.header, frame.envelopeByteCount)
  }

  /// Returns when everything committed so far is durable.
  func synchronize() throws(NotelogError) {
    try checkWritable()
    try log.awaitDurable(try lastWritable())
  }

  /// The last transaction, where this process has the lock: what others committed before is durable then.
  private func lastWritable() throws(NotelogError) -> UInt64 {
    try log.state.withLock { state throws(NotelogError) in
      try state.checkWritable(at: path)
      return state.nextVisible - 1
    }
  }

  func finish(
    _ reservation: Log.Reservation, _ batch: inout Batch, _ durability: Durability
  ) throws(NotelogError) {
    do {
      try log.fill(reservation, with: &batch)
      batch.removeAll()
      if durability == .durable { try log.awaitDurable(reservation.sequence) }
    } catch {
      // It has its place in the log.
      var failure = error
      failure.outcome = .unknown
      throw failure
    }
  }

  /// Waits until nobody else decides which records change next.
  ///
  /// - Throws: `busy` in a closure that has the turn: it would wait for itself.
  func takeTurn() throws(NotelogError) {
    try enterTurn()
    guard options.isLeased, !holdsLock else { return }
    do { try takeBack(waiting: options.lockTimeout) } catch {
      log.turn.leave()
      throw error
    }
  }

  /// Throws where this process must not write.
  func checkWritable() throws(NotelogError) {
    try checkOpen()
    if options.isReadOnly { throw NotelogError.readOnly(path) }
    guard processIdentifier == owner else {
      throw NotelogError(.closed, "this process is a fork of the one that opened the store", in: path)
    }
    // What turned out since the store was opened: whoever opens it again is refused.
    if !knowsWhatIsCurrent { throw NotelogError(unproven: report) }
  }
}
