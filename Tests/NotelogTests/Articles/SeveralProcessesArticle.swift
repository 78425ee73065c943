// The examples of the article "Several processes", line for line.

import Foundation
import Notelog
import Testing

private struct Counter: Record {
  var id = RecordID()
  var count = 0
  static let schema = Schema<Counter>("counter") { Plain("count", \.count) }
}

@Suite struct SeveralProcessesArticle {
  private func open(_ path: String, _ credential: Credential) throws -> Store {
    var options = Store.Options()
    options.writing = .leased(idle: .milliseconds(50))
    options.lockTimeout = .seconds(5)
    options.followsOtherProcesses = true
    let store = try Store.open(at: path, unlocking: credential, options: options)
    return store
  }

  @Test func `an app and its extension, each with the article's examples, count together`() throws {
    let folder = try TemporaryFolder()
    try folder.create().close()
    let (app, helper) = (
      try open(folder.path, TemporaryFolder.key), try open(folder.path, TemporaryFolder.key)
    )
    let id = RecordID()
    try app.write { tx in try tx.put(Counter(id: id)) }
    for store in [helper, app, helper] {
      try store.write { tx in
        try tx.update(Counter.self, id) { counter in counter.set(\.count, try counter.count + 1) }
      }
    }
    #expect(try helper.get(Counter.self, id)?.count == 3)
    try app.close()
    try helper.close()
  }

  @Test func `an app that is suspended sees afterwards what its extension wrote`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var reloadCount = 0
    func reload() { reloadCount += 1 }
    try store.suspend()
    let helper = try open(folder.path, TemporaryFolder.key)
    try helper.write { tx in try tx.put(Counter()) }
    if try store.refresh() { reload() }
    #expect(reloadCount == 1)
    try store.resume(waiting: .seconds(5))
    try store.suspend()
    // … the system suspends the app, and an extension writes …
    try store.resume(waiting: .seconds(5))
    try helper.close()
    #expect(try store.query(Counter.self).count() == 1)
    try store.close()
  }
}
