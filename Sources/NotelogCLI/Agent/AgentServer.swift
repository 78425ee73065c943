// The agent: keeps unlock roots, and gives them to processes of the same user until their time is over.

import CSystem
import Foundation
import Notelog

/// Answers one request at a time; who takes long is hung up on.
struct AgentServer: ~Copyable {
  /// How long a client may take for its request, in milliseconds.
  static let timeout = 500
  /// How long it waits at most before it looks at the clock again: a machine that slept has gone on.
  private static let lookUp = 5_000

  private let folder: Descriptor
  private let listener: Descriptor
  /// Readable when the process is told to end.
  private let end: Descriptor
  private let secondsMax: UInt32
  /// Until when it may keep nothing, as it waits for its first store; nil for ever.
  private var emptyEnd: ContinuousClock.Instant?
  private var hasLeft = false
  private var roots = KeptRoots()

  /// Takes the place, and listens.
  ///
  /// - Parameters:
  ///   - path: The path of the agent's folder.
  ///   - secondsMax: For how long a root is kept at most, whatever is asked.
  ///   - endsWhenEmpty: Whether it ends when it keeps nothing any more.
  /// - Throws: Where an agent is running there, or the folder is not the user's alone.
  init(at path: String, secondsMax: UInt32, endsWhenEmpty: Bool) throws {
    refuse_inspection()
    guard let folder = try Descriptor.privateFolder(path, creating: true) else {
      throw ToolError(.failed, "the folder '\(path)' went away")
    }
    guard flock(folder.number, LOCK_EX | LOCK_NB) == 0 else {
      throw ToolError(.busy, "an agent is running already")
    }
    // Whoever listened there is gone, as it had the lock.
    folder.remove(Self.socketName)
    let end = try Interrupt.heard()
    let listener = try Descriptor.listen(at: path + "/" + Self.socketName)
    self.end = end
    self.listener = listener
    self.folder = folder
    self.secondsMax = secondsMax
    emptyEnd = endsWhenEmpty ? .now + .seconds(60) : nil
  }

  /// Answers until it is told to end. Nothing is kept then, and the place is free.
  mutating func run() {
    while !isDone {
      let ready = Descriptor.wait(for: [end.number, listener.number], milliseconds: waiting)
      roots.forgetEnded(at: .now)
      if ready[0] { break }
      if ready[1] { answerNext() }
      // A function that handled a root may have left a part of it in a register's place on the stack.
      Self.clearStack()
    }
    leave()
    Self.clearStack()
  }

  private var isDone: Bool {
    hasLeft || roots.isEmpty && emptyEnd.map { ContinuousClock.now > $0 } ?? false
  }

  /// How long to wait, in milliseconds; -1 for ever.
  private var waiting: Int32 {
    guard let next = roots.nextEnd else { return emptyEnd == nil ? -1 : Int32(Self.lookUp) }
    let left = ContinuousClock.now.duration(to: next) / .milliseconds(1)
    return Int32(min(max(0, left.rounded(.up)), Double(Self.lookUp)))
  }

  private mutating func answerNext() {
    guard let client = listener.accept(milliseconds: Self.timeout) else {
      // Where no more files can be open the listener stays readable; this loop must not spin.
      _ = Descriptor.wait(for: [end.number], milliseconds: 10)
      return
    }
    // Who takes too long, or asks what is no request, is hung up on.
    guard
      let message = client.receive(byteCountMax: AgentMessage.requestSizeMax, milliseconds: Self.timeout),
      let request = AgentMessage(message), let reply = answer(request)
    else { return }
    // Who asks again after this answer finds another agent, or none, and not one that is about to end.
    if isDone { leave() }
    // A reply that can't be made or sent is the client's to miss.
    if let reply = try? reply.message() { _ = client.send(reply) }
  }

  private mutating func answer(_ request: AgentMessage) -> AgentMessage? {
    let now = ContinuousClock.now
    roots.forgetEnded(at: now)
    switch request {
    case .root(let store): return .kept(roots.root(of: store, at: now))
    case .keep(let store, let seconds, let root):
      let isKept = roots.keep(root, of: store, until: now + .seconds(Int64(min(seconds, secondsMax))))
      if isKept, emptyEnd != nil { emptyEnd = now }
      return isKept ? .done : .full
    case .forget(let store): roots.forget(store)
    case .list: return .stores(roots.list(at: now))
    case .stop: leave()
    default: return nil
    }
    return .done
  }

  /// Overwrites 64 KiB of the stack, on which calls that have returned may have left a register's contents.
  @_optimize(none) @inline(never)
  private static func clearStack() { _ = InlineArray<8192, UInt64>(repeating: 0) }

  /// Forgets everything, and makes the place free for another agent.
  private mutating func leave() {
    guard !hasLeft else { return }
    hasLeft = true
    roots.forget(nil)
    folder.remove(Self.socketName)
    flock(folder.number, LOCK_UN)
  }
}

// MARK: - The unlock roots that an agent keeps, each until its time is over.

/// Roots by their stores. What is taken out is wiped at once, unless somebody still sends it.
struct KeptRoots: Sendable {
  private var roots: [RecordID: (root: SecretBytes, end: ContinuousClock.Instant)] = [:]

  var isEmpty: Bool { roots.isEmpty }
  /// When the next one's time is over.
  var nextEnd: ContinuousClock.Instant? { roots.values.map(\.end).min() }

  /// Keeps a store's root, in place of the one that was kept of it.
  ///
  /// - Returns: Whether there was room.
  mutating func keep(_ root: SecretBytes, of store: RecordID, until end: ContinuousClock.Instant) -> Bool {
    guard roots[store] != nil || roots.count < AgentMessage.storesMax else { return false }
    roots[store] = (root, end)
    return true
  }

  /// A store's root, unless its time is over.
  func root(of store: RecordID, at now: ContinuousClock.Instant) -> SecretBytes? {
    roots[store].flatMap { now < $0.end ? $0.root : nil }
  }

  /// Forgets what has had its time.
  mutating func forgetEnded(at now: ContinuousClock.Instant) { roots = roots.filter { now < $0.value.end } }

  /// Forgets a store's root, or all.
  mutating func forget(_ store: RecordID?) {
    if let store { roots[store] = nil } else { roots = [:] }
  }

  /// The stores, and the seconds that are left, in order of their ids.
  func list(at now: ContinuousClock.Instant) -> [(store: RecordID, seconds: UInt32)] {
    roots.sorted { $0.key < $1.key }.map { store, kept in
      (store, UInt32(clamping: max(0, now.duration(to: kept.end).components.seconds)))
    }
  }
}
