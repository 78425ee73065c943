// When keys of each class are open: the table of KeysAndLocking, and what a store says that was moved.

import Foundation
import Testing

@testable import Notelog

/// A record with a field under a key of each class.
private struct Classes: Record {
  var id = RecordID()
  var fields: [KeyClass: String] = [:]
  var a: String? {
    get { fields[.whenUnlocked] }
    set { fields[.whenUnlocked] = newValue }
  }
  var b: String? {
    get { fields[.whenUnlockedThisDeviceOnly] }
    set { fields[.whenUnlockedThisDeviceOnly] = newValue }
  }
  var c: String? {
    get { fields[.afterFirstUnlock] }
    set { fields[.afterFirstUnlock] = newValue }
  }
  var d: String? {
    get { fields[.afterFirstUnlockThisDeviceOnly] }
    set { fields[.afterFirstUnlockThisDeviceOnly] = newValue }
  }
  var e: String? {
    get { fields[.always] }
    set { fields[.always] = newValue }
  }
  var f: String? {
    get { fields[.alwaysThisDeviceOnly] }
    set { fields[.alwaysThisDeviceOnly] = newValue }
  }
  static let schema = Schema<Classes>("classes") {
    Sealed("a", \.a, key: "a")
    Sealed("b", \.b, key: "b")
    Sealed("c", \.c, key: "c")
    Sealed("d", \.d, key: "d")
    Sealed("e", \.e, key: "e")
    Sealed("f", \.f, key: "f")
  }
}

@Suite struct KeyClassTests {
  private static let names = ["a", "b", "c", "d", "e", "f"]

  /// A store with a record, and this device's secret beside it.
  private final class Sample {
    let folder: TemporaryFolder
    let device: String
    let id = RecordID()

    init() throws {
      folder = try TemporaryFolder()
      device = folder.path + "-device/secret"
      let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options(device))
      for (name, keyClass) in zip(KeyClassTests.names, KeyClass.allCases) {
        try store.createKey(name, keyClass)
      }
      var record = Classes(id: id)
      for keyClass in KeyClass.allCases { record.fields[keyClass] = "\(keyClass)" }
      try store.putAll([record])
      try store.close()
    }

    deinit { try? FileManager.default.removeItem(atPath: folder.path + "-device") }

    func options(_ device: String) -> Store.Options {
      var options = Store.Options()
      options.deviceSecret = .file(device)
      return options
    }

    func open(
      _ path: String? = nil, _ credential: Credential? = nil, device: String? = nil
    ) throws -> Store {
      try Store.open(at: path ?? folder.path, unlocking: credential, options: options(device ?? self.device))
    }

    /// The classes whose field opens, as the letters of their fields.
    func opens(_ store: Store) throws -> String {
      let entry = try #require(try store.get(Classes.self, id))
      var opened = ""
      let reads: [(String, (Entry<Classes>) throws -> String?)] = [
        ("a", { try $0.a }), ("b", { try $0.b }), ("c", { try $0.c }), ("d", { try $0.d }),
        ("e", { try $0.e }),
        ("f", { try $0.f }),
      ]
      for (index, (name, read)) in reads.enumerated() {
        do {
          #expect(try read(entry) == "\(KeyClass.allCases[index])")
          opened += name
        } catch let error as NotelogError {
          #expect([.locked, .missingKey].contains(error.code), "\(error)")
        }
      }
      return opened
    }
  }

  /// KeysAndLocking shows this table.
  @Test func `each class opens as the table says, unlocked, locked, never unlocked, elsewhere and restored`()
    throws
  {
    let sample = try Sample()
    // Never unlocked.
    var store = try sample.open()
    #expect(try sample.opens(store) == "ef")
    // Unlocked, and locked again.
    try store.unlock(TemporaryFolder.key)
    #expect(try sample.opens(store) == "abcdef")
    #expect(store.info().keys.allSatisfy { $0.state == .open })
    store.lock()
    #expect(try sample.opens(store) == "cdef")
    store.lock(.everything)
    #expect(try sample.opens(store) == "ef")
    let backup = try TemporaryFolder()
    try store.ship(to: backup.archive)
    try store.close()

    // On another device: its secret is another one, or it has none.
    for hasSecret in [false, true] {
      let other = sample.folder.path + "-device/other-\(hasSecret)"
      if hasSecret {
        let own = try TemporaryFolder()
        let first = try Store.create(
          at: own.path, unlocking: TemporaryFolder.key, options: sample.options(other))
        try first.createKey("own", .always)
        try first.close()
      }
      store = try sample.open(device: other)
      #expect(try sample.opens(store) == "")
      try store.unlock(TemporaryFolder.key)
      #expect(try sample.opens(store) == "ace")
      #expect(store.info().keys.map(\.state) == [.open, .elsewhere, .open, .elsewhere, .open, .elsewhere])
      #expect(throws: NotelogError(.missingKey, "")) { _ = try store.get(Classes.self, sample.id)?.b }
      store.lock()
      #expect(try sample.opens(store) == "ce")
      store.lock(.everything)
      #expect(try sample.opens(store) == "")
      try store.close()
      // A backup that is restored there is such a store, and one restored here is as the store was.
      let (there, here) = (try TemporaryFolder(), try TemporaryFolder())
      #expect(try Store.restore(from: backup.archive, to: there.path).findings.isEmpty)
      store = try sample.open(there.path, TemporaryFolder.key, device: other)
      #expect(try sample.opens(store) == "ace")
      try store.close()
      #expect(try Store.restore(from: backup.archive, to: here.path).findings.isEmpty)
      store = try sample.open(here.path)
      #expect(try sample.opens(store) == "ef")
      try store.unlock(TemporaryFolder.key)
      #expect(try sample.opens(store) == "abcdef")
      try store.close()
    }
  }

  @Test func `before a store was unlocked its keys open values and seal none`() throws {
    let sample = try Sample()
    let store = try sample.open()
    #expect(throws: NotelogError(.locked, "")) {
      try store.write { tx in try tx.update(Classes.self, sample.id) { $0.set(\.e, "changed") } }
    }
    try store.unlock(TemporaryFolder.key)
    store.lock()
    // Somebody with the root has checked the schemas by now.
    try store.write { tx in try tx.update(Classes.self, sample.id) { $0.set(\.e, "always") } }
    #expect(throws: NotelogError(.locked, "")) {
      try store.write { tx in try tx.update(Classes.self, sample.id) { $0.set(\.a, "changed") } }
    }
    try store.close()
  }

  @Test func `on another device keys of all classes can be made, and open there like the first ones here`()
    throws
  {
    let sample = try Sample()
    let other = sample.folder.path + "-device/other"
    var store = try sample.open(nil, TemporaryFolder.key, device: other)
    try store.createKey("second", .alwaysThisDeviceOnly)
    try store.createKey("third", .always)
    try store.close()
    store = try sample.open(device: other)
    #expect(store.info().keys.suffix(2).map(\.state) == [.open, .open])
    try store.close()
    store = try sample.open()
    #expect(store.info().keys.suffix(2).map(\.state) == [.locked, .locked])
    try store.unlock(TemporaryFolder.key)
    #expect(store.info().keys.suffix(2).map(\.state) == [.elsewhere, .open])
    #expect(try sample.opens(store) == "abcdef")
    try store.close()
  }

  @Test
  func `this device's secret is made once, for its user alone, and one that others may read is refused`()
    throws
  {
    let sample = try Sample()
    func mode(_ path: String) throws -> Int? {
      (try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? NSNumber)?.intValue
    }
    let before = try Data(contentsOf: URL(filePath: sample.device))
    #expect(try mode(sample.device) == 0o600)
    #expect(try mode(URL(filePath: sample.device).deletingLastPathComponent().path) == 0o700)
    let another = try TemporaryFolder()
    let store = try Store.create(
      at: another.path, unlocking: TemporaryFolder.key, options: sample.options(sample.device))
    try store.createKey("another", .alwaysThisDeviceOnly)
    #expect(try Data(contentsOf: URL(filePath: sample.device)) == before)
    for path in [sample.folder.path, another.path] {
      for name in try FileManager.default.contentsOfDirectory(atPath: path) {
        guard let bytes = try? Data(contentsOf: URL(filePath: path + "/" + name)) else { continue }
        #expect(bytes.range(of: before.dropFirst(8).prefix(32)) == nil, "\(name)")
      }
    }
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: sample.device)
    #expect(throws: NotelogError(.inputOutput, "")) { try store.createKey("more", .alwaysThisDeviceOnly) }
    try store.close()
    #expect(throws: NotelogError.self) { try sample.open(nil, TemporaryFolder.key) }
  }

  @Test func `an app may keep this device's secret itself`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.deviceSecret = .kept { _ in [UInt8](repeating: 9, count: 32) }
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    try store.createKey("kept", .alwaysThisDeviceOnly)
    try store.close()
    let again = try Store.open(at: folder.path, options: options)
    #expect(again.info().keys.first?.state == .open)
    try again.close()
    options.deviceSecret = .kept { _ in nil }
    let elsewhere = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    #expect(elsewhere.info().keys.first?.state == .elsewhere)
    try elsewhere.close()
  }
}
