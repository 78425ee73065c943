// A peer, by way of the C code that drives it.
import CPeers

/// SQLite, LMDB, LevelDB or RocksDB.
@safe final class PeerEngine: NoteEngine {
  static let names = ["sqlite", "lmdb", "leveldb", "rocksdb"]

  let name: String
  private let dataset: Dataset
  private var peer: OpaquePointer?

  init(_ name: String, _ dataset: Dataset) {
    self.name = name
    self.dataset = dataset
    unsafe peer = nil
  }

  func open(_ path: String, _ options: EngineOptions) throws {
    unsafe peer = try Self.open(name, path, options)
  }

  private static func open(_ name: String, _ path: String, _ options: EngineOptions) throws -> OpaquePointer {
    let settings = peerOptions(isDurable: options.isDurable, hasTimeIndex: options.hasTimeIndex)
    var message = [CChar](repeating: 0, count: Int(errorByteCountMax))
    // SAFETY: the message has the size the call asks for.
    guard let peer = unsafe peerOpen(name, path, settings, &message) else {
      throw Failure("\(name): " + String(decoding: message.prefix { $0 != 0 }.map(UInt8.init), as: UTF8.self))
    }
    return unsafe peer
  }

  func close() throws {
    // SAFETY: sessions end before their store is closed; it is not used afterwards.
    if let peer = unsafe peer { unsafe peerClose(peer) }
    unsafe peer = nil
  }

  func session() throws -> any NoteSession {
    guard let peer = unsafe peer, let session = unsafe peerSessionBegin(peer) else {
      throw Failure("\(name): not open")
    }
    return unsafe PeerSession(name, session, dataset)
  }

  func compact() throws {
    guard let peer = unsafe peer, unsafe peerCompact(peer) else {
      throw Failure("\(name): compaction failed")
    }
  }

  func verify(_ path: String, _ options: EngineOptions, withKey: Bool) throws {
    try open(path, options)
    defer { try? close() }
    guard let session = try session() as? PeerSession else { return }
    try session.verify(withKey: withKey)
  }
}

/// A thread's session.
@safe final class PeerSession: NoteSession {
  private let name: String
  // SAFETY (of all calls below): the session is used by one thread and ended in deinit; the dataset outlives
  // it.
  private let session: OpaquePointer
  private let dataset: Dataset

  init(_ name: String, _ session: OpaquePointer, _ dataset: Dataset) {
    self.name = name
    unsafe self.session = session
    self.dataset = dataset
  }

  deinit { unsafe peerSessionEnd(session) }

  @discardableResult
  private func check(_ result: Int) throws -> Int {
    guard result < 0 else { return result }
    throw unsafe Failure("\(name): " + String(cString: peerSessionError(session)))
  }

  func insert(_ range: Range<Int>, batch: Int, _ latencies: LatencySink?) throws {
    unsafe try check(
      peerInsert(session, dataset.peers, range.lowerBound, range.count, batch, latencies?.base))
  }

  func update(_ picks: [UInt32], batch: Int, version: Int) throws {
    unsafe try check(peerUpdate(session, dataset.peers, picks, picks.count, batch, UInt32(version), nil))
  }

  func readTitles(_ wanted: Wanted, group: Int, _ latencies: LatencySink?) throws {
    unsafe try check(peerReadTitles(session, wanted.notes, wanted.notes.count, group, latencies?.base))
  }

  func readNotes(_ wanted: Wanted, _ latencies: LatencySink?) throws {
    unsafe try check(peerReadNotes(session, wanted.notes, wanted.notes.count, latencies?.base))
  }

  func firstTitle(_ pick: Int) throws -> Int {
    unsafe try check(peerFirstTitle(session, dataset.peers, pick))
  }

  func readNewest(_ limit: Int) throws -> Int { unsafe try check(peerReadNewest(session, limit)) }

  func scanTitles(part: Int, of parts: Int) throws -> Int {
    unsafe try check(peerScanTitles(session, UInt32(part), UInt32(parts)))
  }

  func searchBodies(part: Int, of parts: Int) throws -> Int {
    let needle = dataset.needle
    return unsafe try check(
      peerSearchBodies(session, needle, needle.utf8.count, UInt32(part), UInt32(parts)))
  }

  func verify(withKey: Bool) throws { unsafe try check(peerVerify(session, withKey)) }
}
