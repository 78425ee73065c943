// The examples of the article "Operating a store", line for line, against stand-ins of the shape that
// swift-log, swift-metrics and ServiceLifecycle have: the package depends on none of them.

import Foundation
import Notelog
import NotelogBase
import Testing

@Suite struct OperatingAStoreArticle {
  /// What was logged and measured.
  private static let lines = Lock<[String]>([])
  private static let shutdown = AsyncStream<Void>.makeStream()

  struct Logger: Sendable {
    enum Level: String {
      case trace, debug, info, notice, warning, error, critical
    }

    let label: String

    func log(level: Level, _ message: String) {
      lines.withLock { $0.append("\(label) \(level): \(message)") }
    }
  }

  final class Counter {
    private let name: String

    init(label: String, dimensions: [(String, String)] = []) {
      name = ([label] + dimensions.map { "\($0)=\($1)" }).joined(separator: " ")
    }

    func increment() { lines.withLock { $0.append("\(name) + 1") } }
  }

  final class Meter {
    private let name: String

    init(label: String, dimensions: [(String, String)] = []) { name = label }

    func set(_ value: some BinaryInteger) { lines.withLock { $0.append("\(name) = \(value)") } }
  }

  final class Timer {
    init(label: String, dimensions: [(String, String)] = []) {}

    func record(duration: Duration) {}
  }

  protocol Service: Sendable {
    func run() async throws
  }

  private static func gracefulShutdown() async throws {
    for await _ in shutdown.stream { return }
  }

  struct StoreService: Service {
    let store: Store

    func run() async throws {
      try? await gracefulShutdown()
      try await store.close()
    }
  }

  func export(_ counters: StoreCounters) {
    Meter(label: "notelog_commits").set(counters.commits)
    Meter(label: "notelog_bytes_written").set(counters.bytesCommitted + counters.bytesCopied)
    Meter(label: "notelog_bytes_reclaimed").set(counters.bytesReclaimed)
    Meter(label: "notelog_syncs").set(counters.syncs)
    Meter(label: "notelog_damaged_places").set(counters.damagedPlaces)
  }

  private func open(_ path: String, _ credential: Credential) throws -> Store {
    let logger = Logger(label: "notes.store")
    var options = Store.Options()
    options.slowSync = .milliseconds(200)
    options.observer = { event in
      logger.log(level: Logger.Level(rawValue: event.severity.rawValue) ?? .error, "\(event)")
      Counter(label: "notelog_events", dimensions: [("event", event.name)]).increment()
      if case .slowSync(let duration) = event { Timer(label: "notelog_slow_sync").record(duration: duration) }
    }
    let store = try Store.open(at: path, unlocking: credential, options: options)
    return store
  }

  @Test func `a service that is shut down has logged, counted and closed its store`() async throws {
    let folder = try TemporaryFolder()
    try await folder.create().close()
    let store = try open(folder.path, TemporaryFolder.key)
    try await store.write { tx in try tx.put(Note(title: "title")) }
    export(store.counters)
    let running = Task { try await StoreService(store: store).run() }
    Self.shutdown.continuation.yield()
    try await running.value
    let lines = Self.lines.withLock { $0 }
    #expect(lines.contains("notes.store info: the store is open"))
    #expect(lines.contains("notes.store info: the store is closed"))
    #expect(lines.contains("notelog_events event=opened + 1") && lines.contains("notelog_commits = 1"))
    let count = try folder.open().query(Note.self).count()
    #expect(count == 1)
    for level in StoreEvent.Severity.allCases { #expect(Logger.Level(rawValue: level.rawValue) != nil) }
  }
}
