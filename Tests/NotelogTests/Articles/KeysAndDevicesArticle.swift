// The examples of the article "Keys and devices", line for line; its shell lines are run by DocumentTests.

import Foundation
import Notelog
import Synchronization
import Testing

private struct Card: Record {
  var id = RecordID()
  var pin = ""
  static let schema = Schema<Card>("card") { Sealed("pin", \.pin, key: "device") }
}

/// As a system's keychain: what it is given it keeps.
private final class Keychain: Sendable {
  private let items = Mutex<[String: [UInt8]]>([:])
  func read(_ name: String) throws -> [UInt8]? { items.withLock { $0[name] } }
  func write(_ bytes: [UInt8], as name: String) throws { items.withLock { $0[name] = bytes } }
}

@Suite struct KeysAndDevicesArticle {
  let folder: TemporaryFolder

  init() throws {
    folder = try TemporaryFolder()
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
  }

  private func options(_ device: String) -> Store.Options {
    var options = Store.Options()
    options.deviceSecret = .file(folder.path + "/" + device)
    return options
  }

  /// What somebody wrote down, and tried.
  private func written(of store: Store) throws -> String {
    let paper = try store.addRecoveryKey()
    try store.unlock(.recoveryKey(text: paper))
    return paper
  }

  @Test func `a key that stayed on another device is begun anew here, and then a new root can be made`()
    throws
  {
    let path = folder.path + "/store"
    let first = try Store.create(at: path, unlocking: TemporaryFolder.key, options: options("one"))
    try first.createKey("device", .whenUnlockedThisDeviceOnly)
    let card = Card(pin: "3141")
    try first.write { tx in try tx.put(card) }
    try first.close()

    let store = try Store.open(at: path, unlocking: TemporaryFolder.key, options: options("two"))
    let entry = try #require(try store.get(Card.self, card.id))
    do {
      print(try entry.pin)
    } catch let error as NotelogError where error.code == .missingKey {
      print("It stayed on the other device.")
    }
    #expect(throws: NotelogError(.missingKey, "")) { try entry.pin }
    #expect(throws: NotelogError(.missingKey, "")) { try store.write { tx in try tx.put(Card(pin: "0")) } }
    #expect(throws: NotelogError(.missingKey, "")) {
      try store.rekey(TemporaryFolder.key, to: .key([UInt8](repeating: 1, count: 32)))
    }
    for key in store.info().keys where key.state == .elsewhere {
      if let name = key.name { try store.beginRotation(of: name) }
    }
    try store.write { tx in try tx.update(Card.self, card.id) { $0.set(\.pin, "2718") } }
    let step = try store.rotate("device")
    #expect(step.isFinished && step.failedCount == 0)
    #expect(try store.get(Card.self, card.id)?.pin == "2718")
    try store.rekey(TemporaryFolder.key, to: .key([UInt8](repeating: 1, count: 32)))
    try store.close()
  }

  @Test func `while a value is left that can't be opened here, rotating says so`() throws {
    let path = folder.path + "/store"
    let first = try Store.create(at: path, unlocking: TemporaryFolder.key, options: options("one"))
    try first.createKey("device", .whenUnlockedThisDeviceOnly)
    try first.write { tx in try tx.put(Card(pin: "3141")) }
    try first.close()
    let store = try Store.open(at: path, unlocking: TemporaryFolder.key, options: options("two"))
    try store.beginRotation(of: "device")
    let step = try store.rotate("device")
    #expect(!step.isFinished && step.failedCount == 1)
    try store.close()
  }

  @Test func `an app keeps this device's secret in its keychain`() throws {
    let keychain = Keychain()
    let (path, credential) = (folder.path + "/store", TemporaryFolder.key)
    var options = Store.Options()
    options.deviceSecret = .kept { making in
      if let kept = try keychain.read("device secret") { return kept }
      guard making else { return nil }
      var generator = SystemRandomNumberGenerator()
      let secret = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
      try keychain.write(secret, as: "device secret")
      return secret
    }
    let store = try Store.create(at: path, unlocking: credential, options: options)
    try store.createKey("device", .alwaysThisDeviceOnly)
    try store.write { tx in try tx.put(Card(pin: "1")) }
    try store.close()
    #expect(try keychain.read("device secret")?.count == 32)
    let locked = try Store.open(at: path, options: options)
    #expect(try locked.query(Card.self).first()?.pin == "1")
    try locked.close()
  }

  @Test func `a forgotten password makes way for a new one`() throws {
    var cheap = Store.Options()
    cheap.passwordWork = 14
    let path = folder.path + "/store"
    let first = try Store.create(at: path, unlocking: .password("forgotten"), options: cheap)
    let card = Card(pin: "3141")
    try first.write { tx in try tx.put(card) }
    let paper = try written(of: first)
    try first.close()
    let store = try Store.open(at: path)
    let newPassword = "not this time"
    let forgotten = store.info().slots.filter { $0.kind == "password" }
    try store.unlock(.recoveryKey(text: paper))
    try store.addCredential(.password(newPassword))
    for slot in forgotten { try store.removeSlot(slot.number) }
    #expect(store.info().slots.count == 2)
    store.lock(.everything)
    #expect(throws: NotelogError(.wrongPassword, "")) { try store.unlock(.password("forgotten")) }
    try store.unlock(.password(newPassword))
    #expect(try store.get(Card.self, card.id)?.pin == "3141")
    try store.close()
  }
}
