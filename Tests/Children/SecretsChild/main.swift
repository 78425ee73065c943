// A process whose memory the tests look into, and that forks itself: started by NotelogCryptoTests, of no
// other use.

import NotelogBase
import NotelogCrypto

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Swift hides fork(2), for good reasons; here it is what is tested.
@_silgen_name("fork") private func forkProcess() -> Int32

/// A key that the test knows too, written straight into secret memory so that no other copy is ever made.
private func patternedSecret(seed: Int, byteCount: Int = 32) throws(CryptoError) -> Secret {
  var secret = try Secret(byteCount: byteCount)
  var bytes = secret.mutableBytes
  for index in 0..<byteCount {
    let byte = UInt8(truncatingIfNeeded: (index &* 73 &+ seed &* 29 &+ 17) ^ (index << 3) ^ (seed << 2))
    bytes.storeBytes(of: byte, toByteOffset: index, as: UInt8.self)
  }
  return secret
}

private func say(_ word: String, _ bytes: [UInt8] = []) {
  let digits = Array("0123456789abcdef".utf8)
  let text = bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }
  print(word, String(decoding: text, as: UTF8.self))
  fflush(nil)
}

/// Waits until the test has looked.
private func waitForTest(_ state: String) {
  say("READY", Array(state.utf8))
  _ = readLine()
}

private func seal(_ key: SealingKey, _ plaintext: [UInt8]) throws -> [UInt8] {
  var output = [UInt8](repeating: 0, count: plaintext.count + SealedValue.overhead)
  var span = output.mutableSpan
  // SAFETY: arrays of bytes are initialised throughout.
  var target = unsafe span.mutableBytes
  var run = NonceRun()
  try unsafe key.seal(
    plaintext.span.bytes, additionalData: plaintext.span.bytes, nonces: &run, into: &target)
  return output
}

private func open(_ key: SealingKey, _ sealed: [UInt8], _ additionalData: [UInt8]) throws {
  var output = [UInt8](repeating: 0, count: sealed.count - SealedValue.overhead)
  var span = output.mutableSpan
  // SAFETY: arrays of bytes are initialised throughout.
  var target = unsafe span.mutableBytes
  try unsafe key.open(sealed.span.bytes, additionalData: additionalData.span.bytes, into: &target)
}

private let message = Array("seventeen letters".utf8)

/// One key, sealed and opened with, then wiped.
private func searchKey() throws {
  let key = SealingKey(
    reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked, key: try patternedSecret(seed: 1))
  let first = try seal(key, message)
  let other = try seal(key, message)
  let last = try seal(key, message)
  // The eighth miss gets an entry of its own in the cache; the shared one has the first's key then.
  for index in 0..<16 { try open(key, index.isMultiple(of: 2) ? first : other, message) }
  for sealed in [first, other, last] { say("SEALED", sealed) }
  waitForTest("open")
  key.wipe()
  waitForTest("wiped")
}

/// A secret on its own: a password, released.
private func searchSecret() throws {
  do {
    let secret = try patternedSecret(seed: 2, byteCount: 48)
    waitForTest("held")
    _ = secret.byteCount
  }
  waitForTest("released")
}

/// A vault with a key of each class, locked in two steps.
private func searchVault() throws {
  let vault: Vault
  do {
    let credential = Credential.rawKey(try patternedSecret(seed: 3))
    vault = try Keyring.create(storeID: ID16(low: 1, high: 2), credential: credential)
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addSlot(.password(try patternedSecret(seed: 4)), work: 14)
      })
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "first", class: .whenUnlocked)
      })
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "second", class: .afterFirstUnlock)
      })
    vault.lock(everything: true)
    try vault.unlock(.password(try patternedSecret(seed: 4)))
  }
  say("KEYRING", vault.keyring.bytes)
  for reference in [UInt32(1), 2] {
    let key = try vault.sealingKey(KeyReference(rawValue: reference))
    let sealed = try seal(key, message)
    try open(key, sealed, message)
    say("SEALED", sealed)
  }
  waitForTest("open")
  vault.lock()
  waitForTest("locked")
  vault.lock(everything: true)
  waitForTest("everything")
}

/// The effaceable secret of every key, as the test knows it too.
private struct PatternedSecrets: OutsideSecrets {
  func deviceSecret(making: Bool) throws(CryptoError) -> Secret? { nil }
  func effaceableSecret(ofKey number: UInt16) throws(CryptoError) -> Secret? {
    try patternedSecret(seed: 7)
  }
}

/// A vault with a key that is shredded while another one stays open.
private func searchShredded() throws {
  let vault: Vault
  do {
    let credential = Credential.rawKey(try patternedSecret(seed: 3))
    vault = try Keyring.create(
      storeID: ID16(low: 1, high: 2), credential: credential, outside: PatternedSecrets())
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "first", class: .whenUnlocked, isEffaceable: true)
      })
    vault.adopt(
      try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "second", class: .whenUnlocked)
      })
  }
  say("KEYRING", vault.keyring.bytes)
  for reference in [UInt32(1), 2] {
    let key = try vault.sealingKey(KeyReference(rawValue: reference))
    let sealed = try seal(key, message)
    try open(key, sealed, message)
    say("SEALED", sealed)
  }
  waitForTest("open")
  vault.adopt(try vault.changing { change throws(CryptoError) in change.shred(try vault.namedKey("first")) })
  waitForTest("shredded")
}

/// Seals, forks, and tries everything in the child.
private func forkAndTry() throws {
  let key = SealingKey(
    reference: KeyReference(rawValue: 1), accessClass: .whenUnlocked, key: try patternedSecret(seed: 5))
  let vault = try Keyring.create(
    storeID: ID16(low: 1, high: 2), credential: .rawKey(try patternedSecret(seed: 6)))
  let sealed = try seal(key, message)
  var run = NonceRun()
  _ = try sealRun(key, &run)
  say("SEALED", sealed)
  let pid = forkProcess()
  if pid == 0 {
    attempt("seal") { say("SEALED", try seal(key, message)) }
    attempt("run") { _ = try sealRun(key, &run) }
    attempt("open") { try open(key, sealed, message) }
    attempt("secret") { _ = try Secret(byteCount: 32) }
    attempt("change") {
      _ = try vault.changing { change throws(CryptoError) in
        try change.addKey(named: "third", class: .whenUnlocked)
      }
    }
    attempt("unlock") { try vault.unlock(.rawKey(try patternedSecret(seed: 6))) }
    vault.lock(everything: true)
    key.wipe()
    say("CHILD", Array("ended".utf8))
    _exit(0)
  }
  var status: Int32 = 0
  // SAFETY: the status is a variable of ours.
  unsafe waitpid(pid, &status, 0)
  say("SEALED", try seal(key, message))
  try open(key, sealed, message)
  say("PARENT", Array("ended".utf8))
}

private func sealRun(_ key: SealingKey, _ run: inout NonceRun) throws -> [UInt8] {
  var output = [UInt8](repeating: 0, count: message.count + SealedValue.overhead)
  var span = output.mutableSpan
  // SAFETY: arrays of bytes are initialised throughout.
  var target = unsafe span.mutableBytes
  try unsafe key.seal(message.span.bytes, additionalData: message.span.bytes, nonces: &run, into: &target)
  return output
}

private func attempt(_ what: String, _ body: () throws -> Void) {
  do {
    try body()
    say("DONE", Array(what.utf8))
  } catch CryptoError.forked {
    say("FORKED", Array(what.utf8))
  } catch {
    say("FAILED", Array("\(what): \(error)".utf8))
  }
}

switch CommandLine.arguments.dropFirst().first {
case "key": try searchKey()
case "secret": try searchSecret()
case "vault": try searchVault()
case "shred": try searchShredded()
case "fork": try forkAndTry()
default: print("usage: SecretsChild key|secret|vault|shred|fork")
}
