// Memory of our own: a growable run of bytes that frames are built in and read into.

/// A run of bytes with one owner.
///
/// Unlike an array it is never copied, never counted, and hands out spans without exclusivity checks in between.
@safe package struct Buffer: ~Copyable {
  @usableFromInline var base: UnsafeMutableRawPointer
  /// How many it can hold without growing.
  package private(set) var capacity: Int
  /// How many bytes from the start have ever been written.
  @usableFromInline var initializedCount = 0

  /// How many bytes it holds.
  package private(set) var count: Int

  /// Whether memory is overwritten before it is given back.
  @usableFromInline let isSecret: Bool

  @inlinable
  package init(capacity: Int = 0, isSecret: Bool = false) {
    self.isSecret = isSecret
    // SAFETY: allocated here, owned by this value alone, freed in deinit or when grown.
    unsafe base = .allocate(byteCount: max(capacity, 64), alignment: 16)
    self.capacity = max(capacity, 64)
    count = 0
  }

  deinit {
    // SAFETY: this value alone owns the memory, of which so many bytes were ever written, and nothing outlives it.
    if isSecret { unsafe SystemMemory.overwrite(base, max(count, initializedCount)) }
    unsafe base.deallocate()
  }

  /// The bytes it holds.
  @inlinable
  package var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      // SAFETY: `count` bytes from `base` are initialised; the span's lifetime is tied to this value's.
      let span = unsafe RawSpan(_unsafeStart: base, byteCount: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// The bytes it holds, to be written.
  @inlinable
  package var mutableBytes: MutableRawSpan {
    @_lifetime(&self)
    mutating get {
      // SAFETY: as above; the exclusive access to this value lasts as long as the span.
      let span = unsafe MutableRawSpan(_unsafeStart: base, byteCount: count)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Forgets the bytes and keeps the memory.
  @inlinable
  package mutating func removeAll() { count = 0 }

  /// Overwrites the bytes with zeros and forgets them.
  @inlinable
  package mutating func wipe() {
    guard count > 0 else { return }
    // SAFETY: `count` bytes from `base` are ours.
    unsafe SystemMemory.overwrite(base, count)
    initializedCount = max(initializedCount, count)
    count = 0
  }

  /// Forgets the bytes from `newCount` on.
  @inlinable
  package mutating func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count, "a buffer is truncated to at most its length")
    count = newCount
  }

  /// Makes the length `newCount`; bytes that are new are zero.
  @inlinable
  package mutating func resize(to newCount: Int) {
    if newCount > count { appendZeros(newCount - count) } else { truncate(to: newCount) }
  }

  /// Makes the length `newCount`; bytes that are new are whatever was there before: they are about to be read into.
  @inlinable
  package mutating func resizeForReading(to newCount: Int) {
    guard newCount > count else { return truncate(to: newCount) }
    let initialized = max(initializedCount, count)
    if newCount > initialized {
      count = initialized
      appendZeros(newCount - initialized)
    }
    initializedCount = max(initialized, newCount)
    count = newCount
  }

  /// Appends zeros.
  @inlinable
  package mutating func appendZeros(_ byteCount: Int) {
    reserve(byteCount)
    // SAFETY: `reserve` made room for these bytes behind `count`.
    unsafe (base + count).initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    count += byteCount
  }

  /// Appends bytes.
  @inlinable
  package mutating func append(_ bytes: RawSpan) {
    reserve(bytes.byteCount)
    // SAFETY: `reserve` made room; source and destination can't overlap, as this value is exclusively ours.
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe (base + count).copyMemory(from: start, byteCount: source.count)
    }
    count += bytes.byteCount
  }

  /// Appends four integers, little-endian.
  @inlinable
  package mutating func append(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
    reserve(32)
    // SAFETY: `reserve` made room for these bytes behind `count`.
    let place = unsafe base + count
    unsafe place.storeBytes(of: first.littleEndian, toByteOffset: 0, as: UInt64.self)
    unsafe place.storeBytes(of: second.littleEndian, toByteOffset: 8, as: UInt64.self)
    unsafe place.storeBytes(of: third.littleEndian, toByteOffset: 16, as: UInt64.self)
    unsafe place.storeBytes(of: fourth.littleEndian, toByteOffset: 24, as: UInt64.self)
    count += 32
  }

  /// Makes room for that many bytes more, at least doubling when it must grow.
  @inlinable
  package mutating func reserve(_ byteCount: Int) {
    precondition(byteCount >= 0, "a buffer grows by zero bytes or more")
    guard count + byteCount > capacity else { return }
    let newCapacity = max(count + byteCount, capacity * 2)
    // Only the bytes that it holds are copied.
    let written = max(count, initializedCount)
    initializedCount = 0
    // SAFETY: the old memory is freed once its `count` bytes have been copied; nobody else holds a pointer to it.
    let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    unsafe newBase.copyMemory(from: base, byteCount: count)
    if isSecret { unsafe SystemMemory.overwrite(base, written) }
    unsafe base.deallocate()
    unsafe base = newBase
    capacity = newCapacity
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied: whoever has it may use it on any thread.
extension Buffer: @unchecked Sendable {}
