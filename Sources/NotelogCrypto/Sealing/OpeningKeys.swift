// The derived keys that values are opened with, kept for salts that come again (decision 0054).

/// Opening contexts, each keyed for the salt it was last used with.
///
/// Setting a derived key up is a third of opening a short value. The values of a transaction share a salt, and what an app shows
/// it reads again and again: a salt that comes a second time gets a context of its own. All others share one, so that a scan
/// of notes that were saved one by one takes neither memory nor the place of what is kept.
///
/// A salt has a set of four places, by some of its bits. Those without a key remember the salts that came last; where all four have
/// keys, each salt that comes tries the patience of one of them, which is whole again when that key is asked for.
@safe
struct OpeningKeys: ~Copyable {
  /// How many contexts there are at most, beside the one for all others: a quarter of a megabyte.
  static let countMax = 256
  private static let setSize = 4
  /// The place of the context for salts that have none of their own.
  static let common = 0
  /// How often another salt must want a key's place, while nobody asks for the key.
  private static let patience: UInt32 = 3

  private struct Place: ~Copyable {
    var saltLow: UInt64 = 0
    var saltHigh: UInt32 = 0
    /// What is left of the key's patience; 0 where the context isn't keyed with this salt.
    var patience: UInt32 = 0
    /// Made when the first salt comes a second time.
    var context: CipherContext?
  }

  private let mode: GaloisCounterMode
  /// How many places there are for salts that come again; they lie behind the common one.
  private let keptCount: Int
  private let places: UnsafeMutablePointer<Place>

  /// - Parameters:
  ///   - mode: What the values are opened with; its tag is set before each.
  ///   - keepsKeys: Whether salts may come again: there is no room for them where one value is opened, or two.
  /// - Throws: ``CryptoError/outOfMemory``.
  init(_ mode: consuming GaloisCounterMode, keepsKeys: Bool) throws(CryptoError) {
    let common = try mode.makeContext()
    keptCount = keepsKeys ? Self.countMax : 0
    // SAFETY: freed in deinit.
    unsafe places = .allocate(capacity: 1 + keptCount)
    self.mode = mode
    unsafe (places + Self.common).initialize(to: Place(context: common))
    for place in 0..<keptCount { unsafe (places + 1 + place).initialize(to: Place()) }
  }

  deinit {
    // SAFETY: all places were initialised; each frees its context.
    unsafe places.deinitialize(count: 1 + keptCount)
    unsafe places.deallocate()
  }

  /// Where a value with this nonce is to be opened.
  @inline(__always)
  borrowing func place(of nonce: InlineArray<3, UInt64>) -> Int {
    let low = nonce[0]
    let high = UInt32(truncatingIfNeeded: nonce[1])
    if isKeyed(at: Self.common), isRemembered(low, high, at: Self.common) { return Self.common }
    guard keptCount > 0 else { return commonPlace(for: low, high) }
    let first = Self.firstPlace(of: low)
    for place in first..<first + Self.setSize where isRemembered(low, high, at: place) {
      return isKeyed(at: place) || makeContext(at: place) ? place : commonPlace(for: low, high)
    }
    findRoom(for: low, high)
    return commonPlace(for: low, high)
  }

  /// Whether the context there has the key of the nonce that the place was asked for with.
  @inline(__always)
  borrowing func isKeyed(at place: Int) -> Bool {
    // SAFETY: here and below, a place is one of those that were made.
    unsafe places[place].patience > 0
  }

  /// One message, in the context there. A nil key keeps the context's; what is refused leaves it without one.
  @inline(__always)
  borrowing func open(
    at place: Int, key: UnsafePointer<UInt8>?,
    initialisationVector: UnsafePointer<UInt8>, additionalData: UnsafeRawBufferPointer,
    _ ciphertext: UnsafeRawBufferPointer, to output: UnsafeMutableRawPointer
  ) -> Bool {
    var isOpened = false
    switch unsafe places[place].context {
    case .some(let context):
      // SAFETY: the caller's pointers, as they came.
      unsafe isOpened = mode.open(
        in: context, key: key, initialisationVector: initialisationVector, additionalData: additionalData,
        ciphertext, to: output)
    case .none: break
    }
    unsafe places[place].patience = isOpened ? Self.patience : 0
    return isOpened
  }

  /// How many contexts there are, for tests.
  var contextCount: Int {
    // SAFETY: as above.
    (0...keptCount).count { unsafe places[$0].context != nil }
  }

  // MARK: places

  private static func firstPlace(of low: UInt64) -> Int {
    1 + Int(truncatingIfNeeded: low) & (countMax - setSize)
  }

  @inline(__always)
  private borrowing func isRemembered(_ low: UInt64, _ high: UInt32, at place: Int) -> Bool {
    // SAFETY: as above.
    unsafe places[place].saltLow == low && places[place].saltHigh == high
  }

  @inline(__always)
  private borrowing func remember(_ low: UInt64, _ high: UInt32, at place: Int) {
    // SAFETY: as above.
    unsafe places[place].saltLow = low
    unsafe places[place].saltHigh = high
    unsafe places[place].patience = 0
  }

  /// Makes the place's context, if it has none yet.
  ///
  /// - Returns: Whether it has one now; where there is no memory, it doesn't.
  @inline(never)
  private borrowing func makeContext(at place: Int) -> Bool {
    // SAFETY: as above.
    if unsafe places[place].context == nil { unsafe places[place].context = try? mode.makeContext() }
    return unsafe places[place].context != nil
  }

  private borrowing func commonPlace(for low: UInt64, _ high: UInt32) -> Int {
    remember(low, high, at: Self.common)
    return Self.common
  }

  /// Remembers a salt that is in no place of its set: in the first without a key, from where all others move on by one.
  @inline(never)
  private borrowing func findRoom(for low: UInt64, _ high: UInt32) {
    let set = Self.firstPlace(of: low)..<Self.firstPlace(of: low) + Self.setSize
    var (low, high, isRemembered) = (low, high, false)
    for place in set where !isKeyed(at: place) {
      // SAFETY: as above.
      unsafe swap(&low, &places[place].saltLow)
      unsafe swap(&high, &places[place].saltHigh)
      isRemembered = true
    }
    if isRemembered { return }
    // One of the four at a time, and which, is chance: a scan takes the first key that it finds unused, and no other.
    let place = set.lowerBound + Int(truncatingIfNeeded: low >> 32) & (Self.setSize - 1)
    unsafe places[place].patience -= 1
  }
}
