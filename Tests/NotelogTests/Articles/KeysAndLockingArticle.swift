// The examples of the article "Keys and locking", line for line.

import Foundation
import Notelog
import Testing

private struct Memo: Record {
  var id = RecordID()
  var time = Date(timeIntervalSinceReferenceDate: 0)
  var text = ""
  static let schema = Schema<Memo>("memo") {
    Plain("time", \.time)
    Sealed("text", \.text)
  }
}

private struct Sketch: Record {
  var id = RecordID()
  var text = ""
  static let schema = Schema<Sketch>("sketch") { Sealed("text", \.text, key: "sketches") }
}

@Suite struct KeysAndLockingArticle {
  @Test func `a key made while the store is created has its class, and the schema takes it`() throws {
    let folder = try TemporaryFolder()
    let (path, credential) = (folder.path, TemporaryFolder.key)
    let store = try Store.create(at: path, unlocking: credential) { store in
      try store.createKey("sketches", .afterFirstUnlock)
    }
    let (sketch, memo) = (Sketch(text: "a hill"), Memo(text: "remember"))
    try store.putAll([sketch])
    try store.putAll([memo])
    store.lock()
    #expect(try store.get(Sketch.self, sketch.id)?.text == "a hill")
    #expect(throws: NotelogError(.locked, "")) { try store.get(Memo.self, memo.id)?.text }
  }

  @Test func `the article's examples do what it says`() throws {
    let folder = try TemporaryFolder()
    let old = "the old password"
    let new = "the new password"
    let keychainKey = [UInt8](repeating: 7, count: 32)
    let store = try Store.create(at: folder.path, unlocking: .password(old))
    try store.addCredential(.key(keychainKey))
    try store.changeCredential(.password(old), to: .password(new))
    try store.removeCredential(.key(keychainKey))
    let text = try store.addRecoveryKey()
    let letters = text.lowercased()
    try store.unlock(.recoveryKey(text: letters))
    try store.createKey("diagnostics", .whenUnlocked)
    let support = "for support"
    try store.grant(["diagnostics"], to: .password(support))
    try store.createKey("drafts", .afterFirstUnlock)
    try store.createKey("patient 7", .whenUnlocked, isShreddable: true)
    try store.shredKey("patient 7")
    #expect(store.info().slots.count == 3)
    #expect(store.info().keys.last?.state == .shredded)

    let password = new
    let memo = Memo(text: "remember")
    let id = memo.id
    try store.write { tx in try tx.put(memo) }
    store.lock()
    try store.write { tx in try tx.update(Memo.self, id) { $0.set(\.time, Date()) } }
    do {
      print(try store.get(Memo.self, id)?.text ?? "")
    } catch let error as NotelogError where error.code == .locked {
      try store.unlock(.password(password))
    }
    #expect(store.isUnlocked)
    #expect(try store.get(Memo.self, id)?.text == "remember")

    let root = try store.unlockRoot()
    store.lock(.everything)
    try store.unlock(.root(root))
    #expect(try store.get(Memo.self, id)?.text == "remember")

    store.lock(.everything)
    func readPassword(into memory: inout MutableRawSpan) throws -> Int {
      for (offset, byte) in password.utf8.enumerated() {
        memory.storeBytes(of: byte, toByteOffset: offset, as: UInt8.self)
      }
      return password.utf8.count
    }
    let typed = try SecretBytes(capacity: 1024) { memory in try readPassword(into: &memory) }
    try store.unlock(.passwordBytes(typed))
    #expect(store.isUnlocked)

    let newer = "the newest password"
    try store.rekey(.password(new), to: .password(newer))
    var step: RotationStep
    repeat {
      step = try store.rotate("default", .time(.milliseconds(50)))
    } while !step.isFinished && step.obstacle == nil && (step.resealedCount > 0 || step.failedCount == 0)
    if step.isFinished { try store.purge() }
    #expect(step.isFinished)
    #expect(store.info().slots.count == 1)
    #expect(try store.get(Memo.self, id)?.text == "remember")

    let entered = "the old password"
    var shown = ""
    do {
      try store.unlock(.password(entered))
    } catch let error as NotelogError where error.code == .wrongPassword {
      shown = error.localizedDescription  // "The password is not right."
    }
    #expect(shown == "The password is not right.")
  }
}
