// What the agent and its clients say to each other, byte by byte.
//
// A message is a length in two bytes (little-endian, of what follows it), the version in one, a kind in one,
// and what belongs to the kind. A connection carries one request and its reply.
//
//   request     kind  then
//   root        1     store's id, 16 bytes
//   keep        2     store's id, 16 bytes; seconds, 4; unlock root, 32
//   forget      3     store's id, 16 bytes
//   forget all  4
//   list        5
//   stop        6
//
//   reply       kind  then
//   done        0
//   root        1     unlock root, 32 bytes
//   none        2
//   list        3     for each store: id, 16 bytes; seconds left, 4
//   refused     4     the request was not understood
//   full        5     the agent keeps as many stores as it may
import Foundation
import Notelog

/// What may be asked of the agent.
enum AgentRequest: Sendable {
  case root(RecordID)
  case keep(RecordID, seconds: UInt32, root: SecretBytes)
  case forget(RecordID)
  case forgetAll
  case list
  case stop

  /// Reads a request without its length; nil where it is none of this version.
  init?(_ message: SecretBytes) {
    guard let reader = AgentMessage.Reader(message) else { return nil }
    switch (reader.kind, reader.rest) {
    case (1, 16): self = .root(reader.id(at: 0))
    case (2, 52):
      let seconds = reader.integer(at: 16)
      guard seconds > 0, let root = reader.secret(at: 20) else { return nil }
      self = .keep(reader.id(at: 0), seconds: seconds, root: root)
    case (3, 16): self = .forget(reader.id(at: 0))
    case (4, 0): self = .forgetAll
    case (5, 0): self = .list
    case (6, 0): self = .stop
    default: return nil
    }
  }

  /// The whole message.
  func message() throws -> SecretBytes {
    switch self {
    case .root(let id): try AgentMessage.make(1, id.byteArray)
    case .keep(let id, let seconds, let root):
      try AgentMessage.make(2, id.byteArray + AgentMessage.bytes(of: seconds), secret: root)
    case .forget(let id): try AgentMessage.make(3, id.byteArray)
    case .forgetAll: try AgentMessage.make(4)
    case .list: try AgentMessage.make(5)
    case .stop: try AgentMessage.make(6)
    }
  }
}

/// What the agent answers.
enum AgentReply: Sendable {
  case done
  case root(SecretBytes)
  case none
  case list([(store: RecordID, seconds: UInt32)])
  case refused
  case full

  /// Reads a reply without its length; nil where it is none of this version.
  init?(_ message: SecretBytes) {
    guard let reader = AgentMessage.Reader(message) else { return nil }
    switch (reader.kind, reader.rest) {
    case (0, 0): self = .done
    case (1, AgentMessage.rootSize):
      guard let root = reader.secret(at: 0) else { return nil }
      self = .root(root)
    case (2, 0): self = .none
    case (3, let count) where count.isMultiple(of: 20):
      self = .list(
        stride(from: 0, to: count, by: 20).map { (reader.id(at: $0), reader.integer(at: $0 + 16)) })
    case (4, 0): self = .refused
    case (5, 0): self = .full
    default: return nil
    }
  }

  /// The whole message.
  func message() throws -> SecretBytes {
    switch self {
    case .done: try AgentMessage.make(0)
    case .root(let root): try AgentMessage.make(1, secret: root)
    case .none: try AgentMessage.make(2)
    case .list(let stores):
      try AgentMessage.make(3, stores.flatMap { $0.store.byteArray + AgentMessage.bytes(of: $0.seconds) })
    case .refused: try AgentMessage.make(4)
    case .full: try AgentMessage.make(5)
    }
  }
}

/// The layout that all messages share.
enum AgentMessage {
  static let version: UInt8 = 1
  static let rootSize = 32
  /// The most stores that an agent keeps.
  static let storesMax = 64
  /// The most bytes behind the length: of a request, and of the reply that lists all stores.
  static let requestSizeMax = 2 + 52
  static let replySizeMax = 2 + 20 * storesMax

  /// A message with its length before it.
  static func make(_ kind: UInt8, _ fields: [UInt8] = [], secret: SecretBytes? = nil) throws -> SecretBytes {
    let count = 2 + fields.count + (secret?.byteCount ?? 0)
    let start =
      [UInt8(truncatingIfNeeded: count), UInt8(truncatingIfNeeded: count >> 8), version, kind] + fields
    return try SecretBytes(start, followedBy: secret)
  }

  static func bytes(of number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// Reads what comes after version and kind. Offsets are from there, and checked against `rest` before they
  /// are used.
  struct Reader {
    private let message: SecretBytes
    let kind: UInt8
    /// How many bytes there are.
    let rest: Int

    /// Nil where the version is another.
    init?(_ message: SecretBytes) {
      guard message.byteCount >= 2 else { return nil }
      let (version, kind) = message.withBytes { (Span<UInt8>(_bytes: $0)[0], Span<UInt8>(_bytes: $0)[1]) }
      guard version == AgentMessage.version else { return nil }
      self.message = message
      self.kind = kind
      rest = message.byteCount - 2
    }

    func id(at offset: Int) -> RecordID { RecordID(bytes: bytes(at: offset, count: 16)) }

    func integer(at offset: Int) -> UInt32 {
      bytes(at: offset, count: 4).reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }

    /// A root, in memory of its own.
    func secret(at offset: Int) -> SecretBytes? {
      try? message.extracting(2 + offset..<2 + offset + rootSize)
    }

    private func bytes(at offset: Int, count: Int) -> [UInt8] {
      message.withBytes { bytes in
        let bytes = Span<UInt8>(_bytes: bytes)
        return (0..<count).map { bytes[2 + offset + $0] }
      }
    }
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
