// The examples of the article "Has someone touched my store?", line for line; its shell lines are run by
// DocumentTests.

import Foundation
import Notelog
import Testing

private struct Parcel: Record {
  var id = RecordID()
  var text = ""
  static let schema = Schema<Parcel>("parcel") { Sealed("text", \.text) }
}

/// What an app's keychain would keep.
private final class Keychain {
  var text: String?
}

@Suite struct TouchedStoreArticle {
  private let keychain = Keychain()

  private func open(at path: String, unlocking credential: Credential) throws -> Store {
    var options = Store.Options()
    options.head = try keychain.text.map { try StoreHead(text: $0) }
    let store = try Store.open(at: path, unlocking: credential, options: options)
    return store
  }

  /// What is told of a store, and whether its head was kept.
  private func look(at store: Store) throws -> (told: [String], isKept: Bool) {
    var told: [String] = []
    func tell(_ text: String) { told.append(text) }
    keychain.text = nil
    let audit = try store.audit()
    if audit.isSound {
      keychain.text = try store.head().description
    } else {
      for finding in audit.findings { tell("\(finding)") }
    }
    return (told, keychain.text != nil)
  }

  @Test func `a store that was put back is told from one that was not, and accepted`() throws {
    let folder = try TemporaryFolder()
    let (path, credential) = (folder.path, TemporaryFolder.key)
    do {
      var options = Store.Options()
      options.keepsEvidence = true
      let store = try Store.create(at: path, unlocking: credential, options: options)
      try store.putAll([Parcel(text: "first")])
      #expect(try look(at: store).isKept)
      try store.close()
    }
    let copy = path + ".copy"
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    do {
      let store = try open(at: path, unlocking: credential)
      try store.putAll([Parcel(text: "second")])
      #expect(try look(at: store).told == [])
      try store.close()
    }
    try FileManager.default.removeItem(atPath: path)
    try FileManager.default.moveItem(atPath: copy, toPath: path)
    let store = try open(at: path, unlocking: credential)
    #expect(throws: NotelogError(.tampered, "")) { try store.putAll([Parcel(text: "third")]) }
    let found = try look(at: store)
    #expect(!found.isKept && found.told.count == 1 && found.told[0].contains("older than it was"))
    try store.acceptEvidence()
    try store.putAll([Parcel(text: "third")])
    #expect(try look(at: store).isKept)
  }

  @Test func `evidence is turned on beside whoever uses the store`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll((0..<100).map { Parcel(text: "\($0)") })
    var step: RotationStep
    repeat {
      step = try store.keepEvidence(.time(.milliseconds(50)))
    } while !step.isFinished && step.obstacle == nil
    #expect(try step.isFinished && store.audit().isSound && store.audit().recordCount == 100)
  }
}
