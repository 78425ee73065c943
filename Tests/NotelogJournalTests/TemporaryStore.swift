// A store's folder for one test, on the real file system.

@testable import NotelogBase
import NotelogFormat
import NotelogStorage
import Testing
import Foundation
@testable import Notelog
import NotelogTestSupport

/// A folder that is deleted with the value.
final class TemporaryStore: Sendable {
  let storage: SystemStorage

  init() throws {
    let path = FileManager.default.temporaryDirectory.appendingPathComponent("notelog-\(UUID().uuidString)")
      .path
    storage = SystemStorage(path: path)
    try storage.makeStoreFolder()
  }

  private init(copying other: TemporaryStore) throws {
    let path = other.storage.path + "-crashed-\(UUID().uuidString)"
    storage = SystemStorage(path: path)
    try storage.makeStoreFolder()
    let names = try other.storage.names(in: "").sorted()
    // What recovery may change is copied; the rest, which can be large, has two names.
    let changing = Set(names.filter { $0.hasSuffix(".journal") }.suffix(3))
    for name in names where name != "lock" {
      let (from, to) = ("\(other.storage.path)/\(name)", "\(path)/\(name)")
      if changing.contains(name) {
        try FileManager.default.copyItem(atPath: from, toPath: to)
      } else {
        try FileManager.default.linkItem(atPath: from, toPath: to)
      }
    }
  }

  /// The store as it would be if its process were killed now.
  func crashedCopy() throws -> TemporaryStore { try TemporaryStore(copying: self) }

  /// How long the segments are, by their numbers.
  var segmentByteCounts: [Int] {
    let names = (try? storage.names(in: ""))?.filter { $0.hasSuffix(".journal") }.sorted() ?? []
    return names.compactMap { try? storage.open($0, .read).byteCount() }
  }

  deinit { try? FileManager.default.removeItem(atPath: storage.path) }
}

/// Ids and bodies that tests write.
func key(_ number: Int) -> ID16 { ID16(low: UInt64(number), high: 0x7465_7374) }

extension Journal {
  /// The ids of all records, in order.
  func records() throws(NotelogError) -> [ID16] { try snapshot().records() }
}

extension Verification {
  /// Whether nothing is damaged, in the log or in the index that an opening would take.
  var isSound: Bool {
    !report.isDamaged && index.wrongEntryCount == 0 && !index.listsOtherSchemas && index.segments.isEmpty
      && index.orders.isEmpty
  }
}

extension JournalOptions {
  /// Small segments, so that switches are common.
  static var small: JournalOptions {
    var options = JournalOptions()
    options.segmentByteCount = 16 << 10
    options.deletionReserve = 16 << 10
    options.checkpointTail = 1000
    return options
  }
}

extension JournalOptions {
  /// How many bits of its fingerprint an id is indexed by: with few, ids collide.
  var fingerprintBitCount: Int {
    get { fingerprintMask.nonzeroBitCount }
    set { fingerprintMask = ~(UInt64.max >> UInt64(newValue)) }
  }
}

extension Journal {
  func put(_ id: ID16, _ body: [UInt8], _ durability: Durability = .flushed) throws {
    var batch = Batch()
    batch.put(id, collection: 1, bodyByteCount: body.count) { bytes in
      bytes.copy(body.rawSpan, at: 0)
    }
    try commit(&batch, durability)
  }

  func delete(_ id: ID16, _ durability: Durability = .flushed) throws {
    var batch = Batch()
    batch.delete(id, collection: 1)
    try commit(&batch, durability)
  }

  func body(of id: ID16) throws -> [UInt8]? {
    var buffer = ReadBuffer()
    guard try records.read(id, into: &buffer) != nil else { return nil }
    return buffer.body.array()
  }
}

/// For scans that must not come upon damage.
func recordIssue(_ damage: Finding) { Issue.record("\(damage)") }

extension Batch {
  /// Adds a record, whose body `write` fills in.
  mutating func put<Failure: Error>(
    _ id: ID16, collection: UInt16, envelope: WrittenEnvelope?, bodyByteCount: Int,
    _ write: (inout MutableRawSpan) throws(Failure) -> Void
  ) throws(Failure) {
    let envelope = envelope?.bytes ?? []
    try put(id, collection: collection, envelopeByteCount: envelope.count, bodyByteCount: bodyByteCount) {
      (payload: inout MutableRawSpan) throws(Failure) in
      payload.copy(envelope.rawSpan, at: 0)
      var body = payload.part(from: envelope.count)
      try write(&body)
    }
  }
}
