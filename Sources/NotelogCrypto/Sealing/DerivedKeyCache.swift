// The derived-key cache: contexts for opening, keyed with derived keys that were used before (decision 0054).

import Synchronization

/// Opening contexts, each keyed for the salt it was last used with.
///
/// Setting up a derived key is a third of opening a short value, and the values of a transaction share a
/// salt. A salt has a set of four entries, by some of its bits. Where it is in none of them, its value is
/// opened in a context that all such salts share; one miss in eight takes an entry of the set instead, so
/// that a scan of notes saved one by one stays in one context.
@safe struct DerivedKeyCache: ~Copyable {
  /// How many contexts there are at most, beside the shared one: a quarter of a megabyte.
  static let capacity = 256
  private static let setSize = 4
  private static let missesPerEntry = 8

  /// A salt as it is compared: twelve bytes, and a mark that tells it from an entry without a key.
  struct Salt: Equatable {
    let low: UInt64
    let high: UInt64

    static let none = Salt(low: 0, high: 0)

    @inline(__always) init(_ nonce: InlineArray<3, UInt64>) {
      self.init(low: nonce[0], high: nonce[1] & 0xFFFF_FFFF | 1 << 32)
    }

    private init(low: UInt64, high: UInt64) { (self.low, self.high) = (low, high) }
  }

  private struct Entry: ~Copyable {
    var salt = Salt.none
    /// Made when the entry is first taken.
    var context: CipherContext?
  }

  /// The shared entry, and behind it as many as the capacity says.
  private let entries: UnsafeMutablePointer<Entry>
  /// Atomic only because opening borrows the cache; it belongs to one thread at a time.
  private let misses = Atomic<Int>(0)

  /// - Parameter shared: The context of salts without an entry, without a key.
  init(shared: consuming CipherContext) {
    // SAFETY: freed in deinit.
    unsafe entries = .allocate(capacity: 1 + Self.capacity)
    unsafe entries.initialize(to: Entry(context: shared))
    for index in 0..<Self.capacity { unsafe (entries + 1 + index).initialize(to: Entry()) }
  }

  deinit {
    // SAFETY: all entries were initialised; each frees its context.
    unsafe entries.deinitialize(count: 1 + Self.capacity)
    unsafe entries.deallocate()
  }

  /// The entry for a value with this salt; whether it has the key, ``isKeyed(_:at:)`` says. The library makes
  /// the contexts of all of them.
  @inline(__always) borrowing func index(
    of salt: Salt, _ library: borrowing OpenSSL
  ) -> Int {
    if isKeyed(salt, at: 0) { return 0 }
    let first = firstIndex(of: salt)
    for index in first..<first + Self.setSize where isKeyed(salt, at: index) { return index }
    return indexAfterMiss(of: salt, library)
  }

  @inline(__always) borrowing func isKeyed(_ salt: Salt, at index: Int) -> Bool {
    // SAFETY: here and below, an index is one of an entry that was made.
    unsafe entries[index].salt == salt
  }

  /// One message. A nil key keeps the entry's; what is refused leaves the entry without one.
  @inline(__always) borrowing func open(
    at index: Int, _ salt: Salt, _ library: borrowing OpenSSL,
    key: UnsafePointer<UInt8>?, initialisationVector: UnsafePointer<UInt8>,
    additionalData: UnsafeRawBufferPointer, _ ciphertext: UnsafeRawBufferPointer,
    to output: UnsafeMutableRawPointer
  ) -> Bool {
    var isOpened = false
    switch unsafe entries[index].context {
    case .some(let context):
      // SAFETY: the caller's pointers, as they came.
      unsafe isOpened = library.open(
        in: context, key: key, initialisationVector: initialisationVector, additionalData: additionalData,
        ciphertext, to: output)
    case .none: break
    }
    unsafe entries[index].salt = isOpened ? salt : .none
    return isOpened
  }

  /// How many contexts there are, for tests.
  var contextCount: Int {
    // SAFETY: as above.
    (0...Self.capacity).count { unsafe entries[$0].context != nil }
  }

  private borrowing func firstIndex(of salt: Salt) -> Int {
    1 + Int(truncatingIfNeeded: salt.low) & (Self.capacity - Self.setSize)
  }

  /// The shared entry, or after so many misses one of the salt's set, in turn.
  @inline(never) private borrowing func indexAfterMiss(
    of salt: Salt, _ library: borrowing OpenSSL
  ) -> Int {
    let count = misses.load(ordering: .relaxed) &+ 1
    misses.store(count, ordering: .relaxed)
    guard count.isMultiple(of: Self.missesPerEntry) else { return 0 }
    let index = firstIndex(of: salt) + count / Self.missesPerEntry & (Self.setSize - 1)
    // SAFETY: as above. Where there is no memory for a context, the shared one serves.
    if unsafe entries[index].context == nil { unsafe entries[index].context = try? library.makeContext() }
    return unsafe entries[index].context == nil ? 0 : index
  }
}
