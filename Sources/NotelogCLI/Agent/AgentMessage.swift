// What the agent and its clients say to each other, byte by byte.
//
// A message is a length in two bytes (little-endian, of what follows it), the version in one, a kind in one,
// and what belongs to the kind. A connection carries one request and its reply.
//
//   request     kind  then
//   root        1     store's id, 16 bytes
//   keep        2     store's id, 16 bytes; seconds, 4; unlock root, 32
//   forget      3     store's id, 16 bytes; or nothing, for all stores
//   list        4
//   stop        5
//
//   reply       kind  then
//   done        6
//   kept        7     unlock root, 32 bytes; or nothing, where none is kept
//   stores      9     for each store: id, 16 bytes; seconds left, 4
//   full        11    the agent keeps as many stores as it may
import Foundation
import Notelog

/// What may be asked of the agent, and what it answers.
enum AgentMessage: Sendable {
  case root(RecordID)
  case keep(RecordID, seconds: UInt32, root: SecretBytes)
  case forget(RecordID?)
  case list
  case stop

  case done
  case kept(SecretBytes?)
  case stores([(store: RecordID, seconds: UInt32)])
  case full

  static let version: UInt8 = 3
  static let rootSize = 32
  /// The most stores that an agent keeps.
  static let storesMax = 64
  /// The most bytes behind the length: of a request, and of the reply that lists all stores.
  static let requestSizeMax = 2 + 52
  static let replySizeMax = 2 + 20 * storesMax

  /// Reads a message without its length; nil where it is none of this version.
  init?(_ message: SecretBytes) {
    func bytes(_ range: Range<Int>) -> [UInt8] {
      message.withBytes { bytes in range.map { Span<UInt8>(_bytes: bytes)[$0] } }
    }
    func id(at offset: Int) -> RecordID { RecordID(bytes: bytes(offset..<offset + 16)) }
    func seconds(at offset: Int) -> UInt32 {
      bytes(offset..<offset + 4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
    // A root, in memory of its own.
    func root(at offset: Int) -> SecretBytes? {
      try? message.extracting(offset..<offset + Self.rootSize)
    }
    guard message.byteCount >= 2, bytes(0..<1) == [Self.version] else { return nil }
    // Offsets are checked against the count before they are used.
    switch (bytes(1..<2)[0], message.byteCount - 2) {
    case (1, 16): self = .root(id(at: 2))
    case (2, 52):
      guard seconds(at: 18) > 0, let root = root(at: 22) else { return nil }
      self = .keep(id(at: 2), seconds: seconds(at: 18), root: root)
    case (3, 16): self = .forget(id(at: 2))
    case (3, 0): self = .forget(nil)
    case (4, 0): self = .list
    case (5, 0): self = .stop
    case (6, 0): self = .done
    case (7, Self.rootSize):
      guard let root = root(at: 2) else { return nil }
      self = .kept(root)
    case (7, 0): self = .kept(nil)
    case (9, let count) where count.isMultiple(of: 20):
      self = .stores(stride(from: 2, to: 2 + count, by: 20).map { (id(at: $0), seconds(at: $0 + 16)) })
    case (11, 0): self = .full
    default: return nil
    }
  }

  /// The whole message, its length before it.
  func message() throws -> SecretBytes {
    switch self {
    case .root(let id): try Self.make(1, id.byteArray)
    case .keep(let id, let seconds, let root):
      try Self.make(2, id.byteArray + Self.bytes(of: seconds), secret: root)
    case .forget(let id): try Self.make(3, id?.byteArray ?? [])
    case .list: try Self.make(4)
    case .stop: try Self.make(5)
    case .done: try Self.make(6)
    case .kept(let root): try Self.make(7, secret: root)
    case .stores(let stores):
      try Self.make(9, stores.flatMap { $0.store.byteArray + Self.bytes(of: $0.seconds) })
    case .full: try Self.make(11)
    }
  }

  private static func make(
    _ kind: UInt8, _ fields: [UInt8] = [], secret: SecretBytes? = nil
  ) throws -> SecretBytes {
    let count = 2 + fields.count + (secret?.byteCount ?? 0)
    let start =
      [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8), version, kind] + fields
    return try SecretBytes(start, followedBy: secret)
  }

  private static func bytes(of number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }
}

extension RecordID {
  /// The id of sixteen bytes.
  init(bytes b: [UInt8]) {
    self.init(
      UUID(
        uuid: (
          b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7], b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]
        )))
  }

  /// Its sixteen bytes.
  var byteArray: [UInt8] {
    let b = uuid.uuid
    return [b.0, b.1, b.2, b.3, b.4, b.5, b.6, b.7, b.8, b.9, b.10, b.11, b.12, b.13, b.14, b.15]
  }
}
