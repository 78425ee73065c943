// What the agent and its clients say to each other: every message there and back, and anything else refused.
import Foundation
import Notelog
import NotelogTestSupport
import Testing

@testable import NotelogCLI

@Suite struct AgentMessageTests {
  static let store = RecordID("00112233445566778899aabbccddeeff") ?? RecordID()

  static func root(_ byte: UInt8 = 7) throws -> SecretBytes {
    try SecretBytes([UInt8](repeating: byte, count: 32))
  }

  /// A message's bytes.
  static func bytes(_ message: SecretBytes) -> [UInt8] {
    message.withBytes { bytes in
      let bytes = Span<UInt8>(_bytes: bytes)
      return bytes.indices.map { bytes[$0] }
    }
  }

  /// What comes behind a message's length.
  static func body(_ message: SecretBytes) throws -> SecretBytes {
    try message.extracting(2..<message.byteCount)
  }

  @Test func `a request is laid out as the protocol says`() throws {
    let request = AgentMessage.keep(Self.store, seconds: 900, root: try Self.root())
    let expected: [UInt8] =
      [54, 0, 3, 2] + (0..<16).map { UInt8($0 * 17) } + [0x84, 3, 0, 0] + [UInt8](repeating: 7, count: 32)
    #expect(Self.bytes(try request.message()) == expected)
    #expect(Self.bytes(try AgentMessage.list.message()) == [2, 0, 3, 4])
  }

  @Test func `every message is read as it was made, and no other length of it`() throws {
    let requests: [AgentMessage] = [
      .root(Self.store), .keep(Self.store, seconds: 1, root: try Self.root()), .forget(Self.store),
      .forget(nil), .list, .stop,
    ]
    let stores = (0..<AgentMessage.storesMax).map { _ in (store: RecordID(), seconds: UInt32.max) }
    let replies: [AgentMessage] = [
      .done, .kept(try Self.root()), .kept(nil), .stores([]), .stores(stores), .full,
    ]
    for (messages, sizeMax) in [
      (requests, AgentMessage.requestSizeMax), (replies, AgentMessage.replySizeMax),
    ] {
      for message in messages {
        let body = try Self.body(try message.message())
        #expect(body.byteCount <= sizeMax)
        let read = try #require(AgentMessage(body))
        #expect(Self.bytes(try read.message()) == Self.bytes(try message.message()))
        // What is cut is none, but that all stores are forgotten, that none is kept, and a list of fewer stores.
        for count in 0..<body.byteCount where !Self.isWhole(message, count) {
          #expect(AgentMessage(try body.extracting(0..<count)) == nil)
        }
        #expect(AgentMessage(try SecretBytes(Self.bytes(body) + [0])) == nil)
      }
    }
  }

  /// Whether so many bytes of a message are another message.
  private static func isWhole(_ message: AgentMessage, _ count: Int) -> Bool {
    switch message {
    case .forget, .kept: count == 2
    case .stores: count >= 2 && (count - 2).isMultiple(of: 20)
    default: false
    }
  }

  @Test func `another version, an unknown kind and no time at all are refused`() throws {
    for body in [[UInt8](), [3], [0, 5], [2, 5], [4, 5], [3, 0], [3, 8], [3, 10], [3, 12], [3, 255]] {
      #expect(AgentMessage(try SecretBytes(body)) == nil, "\(body)")
    }
    #expect(AgentMessage(try SecretBytes([3, 2] + [UInt8](repeating: 0, count: 52))) == nil)
  }

  @Test func `bytes at random are read or refused, and never a trap`() throws {
    var generator = SeededGenerator(seed: 33)
    for _ in 0..<100_000 {
      let count = Int.random(in: 0...70, using: &generator)
      var body = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
      // Half of them begin as messages do.
      if Bool.random(using: &generator), count >= 2 { (body[0], body[1]) = (3, body[1] & 15) }
      let message = try SecretBytes(body)
      if let read = AgentMessage(message) {
        #expect(Self.bytes(try read.message()).dropFirst(2) == body[...])
      }
    }
  }

  // MARK: what an agent keeps

  @Test func `a root is given until its time is over, and not a moment longer`() throws {
    var roots = KeptRoots()
    let now = ContinuousClock.now
    let end = now + .seconds(10)
    #expect(roots.keep(try Self.root(1), of: Self.store, until: end))
    #expect(roots.root(of: Self.store, at: end - .nanoseconds(1)) != nil)
    #expect(roots.root(of: Self.store, at: end) == nil)
    #expect(roots.root(of: RecordID(), at: now) == nil)
    #expect(roots.list(at: now + .milliseconds(1)).map(\.seconds) == [9])
    roots.forgetEnded(at: end - .nanoseconds(1))
    #expect(!roots.isEmpty && roots.nextEnd == end)
    roots.forgetEnded(at: end)
    #expect(roots.isEmpty && roots.nextEnd == nil)
  }

  @Test func `as many stores are kept as the limit says, and one that is kept is kept anew`() throws {
    var roots = KeptRoots()
    let end = ContinuousClock.now + .seconds(10)
    for number in 0..<AgentMessage.storesMax {
      #expect(roots.keep(try Self.root(UInt8(number)), of: number == 0 ? Self.store : RecordID(), until: end))
    }
    #expect(!roots.keep(try Self.root(), of: RecordID(), until: end))
    #expect(roots.keep(try Self.root(99), of: Self.store, until: end + .seconds(1)))
    #expect(roots.root(of: Self.store, at: end).map(Self.bytes) == [UInt8](repeating: 99, count: 32))
    roots.forget(Self.store)
    #expect(roots.root(of: Self.store, at: end - .seconds(1)) == nil)
    roots.forget(nil)
    #expect(roots.isEmpty)
  }

  // MARK: a running agent

  /// What a socket is sent and how it is treated, from one that sends nothing to one that sends anything.
  @Test func `an agent survives whatever is sent to it, and goes on answering`() throws {
    let script = """
      mkfifo said; notelog agent >said & read -r line <said
      notelog unlock my.notelog $quick
      cat >send.py <<'END'
      import random, socket, struct
      random.seed(33)
      def connect():
        s = socket.socket(socket.AF_UNIX); s.settimeout(10); s.connect('run/notelog/agent'); return s
      silent = [connect() for _ in range(4)]
      try: silent[0].send(b'!', socket.MSG_OOB)
      except OSError: pass
      for number in range(2000):
        s = connect()
        body = random.randbytes(random.choice([0, 1, 2, 18, 54, 55, 70, 3000]))
        if number % 2: body = bytes([3, random.choice([0, 1, 6, 7, 9, 12])]) + body
        length = len(body) if number % 3 else random.randrange(65536)
        try:
          s.sendall(struct.pack('<H', length) + body)
          if number % 5 == 0: s.shutdown(socket.SHUT_WR)
          if number % 7 == 0: s.close()
          elif length <= len(body) and number % 11 == 0: s.recv(2000)
        except OSError: pass
        s.close()
      print('sent')
      END
      python3 send.py; kept | cut -d, -f1; titles
      """
    try Workbench().expect(
      agentPrelude + script, .init(out: "unlocked for 15m\nsent\n kept by the agent\nHello\n"))
  }
}
