// A data key, ready to seal and to open (FORMAT.md 11).

package import NotelogBase
import Synchronization

/// One data key with the contexts that use it.
///
/// Any thread may call at any time. It takes a free lane with one atomic operation, beginning at the one that
/// its number hashes to: no lock is waited for, and nothing is allocated once the lane has a context, but
/// those of the derived-key cache. They belong to the key and not to the threads, so that ``wipe()`` reaches
/// all of them.
package final class SealingKey: Sendable {
  package let reference: KeyReference
  package let accessClass: AccessClass

  private let memory: SecretMemory
  /// The key itself, for contexts still to be made; nil once wiped.
  let key: Lock<Secret?>
  /// Set first when the key is wiped, so that threads in a loop of calls don't keep lanes from being closed.
  private let isClosed = Atomic<Bool>(false)
  private let lanes: InlineArray<64, SealingLane>
  /// What was made of the key for other purposes.
  private let derivedKeys = Lock<[String: SealingKey]>([:])

  /// - Parameters:
  ///   - reference: The number that sealed values will name.
  ///   - accessClass: What ``CryptoError/locked(_:)`` says once it is wiped.
  ///   - key: Thirty-two bytes.
  ///   - memory: Where derived keys are kept.
  package init(
    reference: KeyReference, accessClass: AccessClass, key: consuming Secret, memory: SecretMemory = .shared
  ) {
    precondition(key.byteCount == 32, "a data key has thirty-two bytes")
    self.reference = reference
    self.accessClass = accessClass
    self.memory = memory
    self.key = Lock(consume key)
    lanes = InlineArray { _ in SealingLane() }
  }

  deinit { wipe() }

  /// Seals a value under the next nonce of a run.
  ///
  /// - Parameters:
  ///   - plaintext: At most ``SealedValue/plaintextMax`` bytes.
  ///   - additionalData: What the value is bound to.
  ///   - nonces: The transaction's run; it may be used with several keys.
  ///   - output: Exactly ``SealedValue/overhead`` bytes more than the plaintext; not overlapping it.
  /// - Throws: ``CryptoError/locked(_:)`` after ``wipe()``, ``CryptoError/forked`` in a forked child.
  /// - Complexity: O(*n*); allocates nothing.
  package func seal(
    _ plaintext: RawSpan, additionalData: RawSpan, nonces: inout NonceRun, into output: inout MutableRawSpan
  ) throws(CryptoError) {
    try check(plaintext.byteCount, additionalData, output.byteCount - SealedValue.overhead)
    // SAFETY: the lane is ours until it is given back; the spans keep their bytes alive; sizes were checked
    // above.
    let lane = try acquireLane()
    var failure: CryptoError? = .library
    if let context = unsafe lanes[lane].context, let target = unsafe output.start {
      failure = unsafe context.pointee.seal(
        plaintext.buffer, additionalData: additionalData.buffer, nonces: &nonces, to: target)
    }
    lanes[lane].giveBack()
    if let failure { throw failure }
  }

  /// Opens a sealed value.
  ///
  /// - Parameters:
  ///   - sealed: Salt, IV, ciphertext and tag.
  ///   - additionalData: What the caller expects the value to be bound to.
  ///   - output: Exactly ``SealedValue/overhead`` bytes fewer; not overlapping. Wiped where the value is
  ///     refused.
  /// - Throws: ``CryptoError/tampered`` where it does not authenticate, or is too short to be a sealed value.
  /// - Complexity: O(*n*); allocates nothing, but a context where the derived-key cache takes an entry.
  package func open(_ sealed: RawSpan, additionalData: RawSpan, into output: inout MutableRawSpan)
    throws(CryptoError)
  {
    guard sealed.byteCount >= SealedValue.overhead else { throw .tampered }
    try check(sealed.byteCount - SealedValue.overhead, additionalData, output.byteCount)
    // SAFETY: as for sealing.
    let lane = try acquireLane()
    var failure: CryptoError? = .library
    if let context = unsafe lanes[lane].context {
      let target = unsafe UnsafeMutableRawBufferPointer(start: output.start, count: output.byteCount)
      failure = unsafe context.pointee.open(sealed.buffer, additionalData: additionalData.buffer, to: target)
    }
    lanes[lane].giveBack()
    if let failure { throw failure }
  }

  /// PMAC of two blocks and the bytes behind them.
  ///
  /// - Complexity: O(*n*); allocates nothing.
  package func authenticate(
    _ first: ID16, _ second: ID16, _ bytes: RawSpan
  ) throws(CryptoError) -> ID16 {
    guard bytes.byteCount <= SealedValue.plaintextMax else { throw .limitExceeded(.plaintext) }
    // SAFETY: as for sealing.
    let lane = try acquireLane()
    let tag = unsafe lanes[lane].context?.pointee.pmac((first, second), bytes)
    lanes[lane].giveBack()
    guard let tag else { throw .library }
    return tag
  }

  /// Encrypts whole blocks of sixteen bytes where they lie, without a mode.
  package func encrypt(_ blocks: inout MutableRawSpan) throws(CryptoError) {
    precondition(blocks.byteCount % 16 == 0 && blocks.byteCount < 1 << 30, "blocks are whole")
    // SAFETY: as for sealing.
    let lane = try acquireLane()
    let target = unsafe UnsafeMutableRawBufferPointer(start: blocks.start, count: blocks.byteCount)
    let isDone = unsafe lanes[lane].context?.pointee.encrypt(target) ?? false
    lanes[lane].giveBack()
    if !isDone { throw .library }
  }

  /// A key made of this one for another purpose of one store. It is made once, and wiped with this one.
  package func derived(_ purpose: String, store: ID16) throws(CryptoError) -> SealingKey {
    if let known = derivedKeys.withLock({ $0[purpose] }) { return known }
    let made = try withKey { key throws(CryptoError) in
      let info = Array(purpose.utf8)
      return SealingKey(
        reference: reference, accessClass: accessClass,
        key: try OpenSSL.hkdfSHA256(key.bytes, salt: store.array, info: info), memory: memory)
    }
    let kept = derivedKeys.withLock { keys in
      let kept = keys[purpose] ?? made
      keys[purpose] = kept
      return kept
    }
    // Where this one was wiped meanwhile.
    if isClosed.load(ordering: .sequentiallyConsistent) { kept.wipe() }
    return kept
  }

  /// Wipes the key and all contexts, and waits for calls under way on other threads to end; none begins any
  /// more. A second call does nothing: it need not wait for the first to end, as the vault's lock holds them
  /// apart.
  package func wipe() {
    // In a forked child another thread may have held the mutex for ever, and the memory is zero already.
    guard memory.isOriginalProcess else { return }
    guard !isClosed.exchange(true, ordering: .sequentiallyConsistent) else { return }
    key.withLock { $0 = nil }
    for key in derivedKeys.withLock({ $0.values }) { key.wipe() }
    for lane in lanes.indices { lanes[lane].wipe() }
  }

  // MARK: lanes

  /// A lane for this thread, with a context in it: the first choice is the one that its number hashes to.
  @inline(__always) private func acquireLane() throws(CryptoError) -> Int {
    if isClosed.load(ordering: .relaxed) { throw .locked(accessClass) }
    // It has six bits, which are below the lanes' count.
    let lane = threadNumber
    guard lanes[lane].acquire() else { return try acquireAnotherLane(than: lane) }
    if lanes[lane].isEmpty { try fill(lane) }
    return lane
  }

  /// The next free lane after one that another thread is in.
  @inline(never) private func acquireAnotherLane(than first: Int) throws(CryptoError) -> Int {
    while memory.isOriginalProcess {
      for step in 1...lanes.count {
        let lane = (first + step) % lanes.count
        guard lanes[lane].acquire() else { continue }
        if lanes[lane].isEmpty { try fill(lane) }
        return lane
      }
      if isClosed.load(ordering: .relaxed) { throw .locked(accessClass) }
      Platform.yield()
    }
    throw .forked
  }

  /// Makes the context of a lane that the caller holds, and that has none.
  @inline(never) private func fill(_ lane: Int) throws(CryptoError) {
    do throws(CryptoError) {
      lanes[lane].keep(try makeContext())
    } catch {
      lanes[lane].giveBack()
      throw error
    }
  }

  private func makeContext() throws(CryptoError) -> UInt {
    try withKey { key throws(CryptoError) in
      let context = try XAES(key: key, memory: memory)
      let pointer = UnsafeMutablePointer<XAES>.allocate(capacity: 1)
      // SAFETY: freed by the lane's `wipe`.
      unsafe pointer.initialize(to: context)
      return UInt(bitPattern: pointer)
    }
  }

  /// Lends the key itself.
  private func withKey<Result>(_ body: (borrowing Secret) throws(CryptoError) -> Result) throws(CryptoError)
    -> Result
  {
    guard memory.isOriginalProcess else { throw .forked }
    return try key.withLock { key throws(CryptoError) in
      switch key {
      case .none: throw .locked(accessClass)
      case .some(let key): return try body(key)
      }
    }
  }

  // MARK: checks

  @inline(__always) private func check(_ plaintextCount: Int, _ additionalData: RawSpan, _ outputCount: Int)
    throws(CryptoError)
  {
    guard plaintextCount <= SealedValue.plaintextMax else { throw .limitExceeded(.plaintext) }
    guard additionalData.byteCount <= SealedValue.additionalDataMax else {
      throw .limitExceeded(.additionalData)
    }
    precondition(outputCount == plaintextCount, "the output's size is the input's, ± SealedValue.overhead")
  }
}

// A span that is a function's parameter outlives the call, and so do its bytes; taking the pointers out of
// the spans' closures keeps the hot path in one function.
extension RawSpan {
  /// The bytes, for use within a function that has the span as its parameter.
  @inline(__always) var buffer: UnsafeRawBufferPointer {
    // SAFETY: see above.
    unsafe withUnsafeBytes { unsafe $0 }
  }
}

extension MutableRawSpan {
  /// Where the bytes start, for use within a function that has the span as its parameter.
  @inline(__always) fileprivate var start: UnsafeMutableRawPointer? {
    mutating get {
      // SAFETY: see above.
      unsafe withUnsafeMutableBytes { $0.baseAddress }
    }
  }
}

// MARK: - Digests by which equal values of one field are told, under a data key (FORMAT.md 11.3).

extension SealingKey {
  package static let digestByteCount = 16

  /// The digest of a value: the same for the same value of the same field, under this key only.
  package func digest(of value: RawSpan, field: ID16, store: ID16) throws(CryptoError) -> [UInt8] {
    try withKey { key throws(CryptoError) in
      let info = Array("NL1/equality".utf8) + field.array
      let derived = try OpenSSL.hkdfSHA256(key.bytes, salt: store.array, info: info)
      return Array(try OpenSSL.hmacSHA256(key: derived.bytes, value).prefix(Self.digestByteCount))
    }
  }
}

// MARK: - One thread's place in a sealing key.

/// A sealing context and who may use it now.
///
/// A lane fills two cache lines, so that threads on neighbouring lanes don't slow each other down.
@safe struct SealingLane: ~Copyable {
  private let isTaken = Atomic<Bool>(false)
  /// The context's address. It belongs to whoever holds the lane, and is atomic only because to change a
  /// plain property would be to claim the whole lane, `isTaken` included, at which other threads look meanwhile.
  private let address = Atomic<UInt>(0)
  private let padding = InlineArray<14, UInt64>(repeating: 0)

  /// The context, once whoever holds the lane has made one.
  @inline(__always) var context: UnsafeMutablePointer<XAES>? {
    // SAFETY: the address came from a pointer to a context, which lives until `wipe`.
    unsafe UnsafeMutablePointer(bitPattern: address.load(ordering: .relaxed))
  }

  /// Whether nobody has made a context yet.
  @inline(__always) var isEmpty: Bool { address.load(ordering: .relaxed) == 0 }

  /// Leaves a context in the lane, which has none. By whoever holds the lane.
  borrowing func keep(_ context: UInt) { address.store(context, ordering: .relaxed) }

  /// Takes the lane, where it is free.
  @inline(__always) borrowing func acquire() -> Bool {
    isTaken.compareExchange(expected: false, desired: true, ordering: .acquiring).exchanged
  }

  /// Gives the lane back: a plain store, because nobody else writes while it is taken.
  @inline(__always) borrowing func giveBack() { isTaken.store(false, ordering: .releasing) }

  /// Takes the lane for good, once whoever holds it has given it back, and frees its context, which cleanses page
  /// and key schedules. To be called once.
  borrowing func wipe() {
    while !acquire() { Platform.yield() }
    // SAFETY: made by `SealingKey` with one allocation and one initialisation; nobody else points to it.
    guard let wiped = unsafe context else { return }
    address.store(0, ordering: .relaxed)
    unsafe wiped.deinitialize(count: 1)
    unsafe wiped.deallocate()
  }
}

// MARK: - The sizes of a sealed value (FORMAT.md 11.1).

/// The layout of a sealed value: `salt 12 | IV 12 | ciphertext | tag 16`.
package enum SealedValue {
  package static let saltSize = 12
  package static let initialisationVectorSize = 12
  package static let tagSize = OpenSSL.tagSize
  /// Salt and IV together are the 24-byte nonce of XAES-256-GCM.
  package static let nonceSize = saltSize + initialisationVectorSize
  /// What sealing adds to a plaintext.
  package static let overhead = nonceSize + tagSize
  /// The longest plaintext that is sealed in one piece; longer ones are chunked.
  package static let plaintextMax = 16 << 20
  /// The longest additional data.
  package static let additionalDataMax = 4096
  /// The number of the cipher, which is part of the additional data: XAES-256-GCM, of fields and chunks.
  static let fieldSuite: UInt8 = 1
  /// KC-XAES-256-GCM, key-committing: wrapped keys.
  static let wrapSuite: UInt8 = 2
}
