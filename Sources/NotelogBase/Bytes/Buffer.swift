// Memory of our own: a growable run of bytes that frames are built in and read into.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

/// A run of bytes with one owner.
///
/// Unlike an array it is never copied, never counted, and hands out spans without exclusivity checks in
/// between.
@safe public struct Buffer: ~Copyable {
  @usableFromInline var base: UnsafeMutableRawPointer
  @usableFromInline var allocatedCount: Int
  /// How many bytes from the start have ever been written.
  @usableFromInline var initializedCount = 0

  @usableFromInline var heldCount = 0

  /// How many it can hold without growing.
  @inlinable
  public var capacity: Int { allocatedCount }

  /// How many bytes it holds.
  @inlinable
  public var count: Int { heldCount }

  /// Whether memory is overwritten before it is given back.
  @usableFromInline let isSecret: Bool

  @inlinable
  public init(capacity: Int = 0, isSecret: Bool = false) {
    self.isSecret = isSecret
    // SAFETY: allocated here, owned by this value alone, freed in deinit or when grown.
    unsafe base = .allocate(byteCount: max(capacity, 64), alignment: 16)
    allocatedCount = max(capacity, 64)
  }

  deinit {
    // SAFETY: this value alone owns the memory, of which so many bytes were ever written, and nothing
    // outlives it.
    if isSecret { unsafe SystemMemory.overwrite(base, max(count, initializedCount)) }
    unsafe base.deallocate()
  }

  /// The bytes it holds.
  @inlinable
  @inline(__always)
  public var bytes: RawSpan {
    @_lifetime(borrow self)
    borrowing get {
      // SAFETY: `count` bytes from `base` are initialised; the span's lifetime is tied to this value's.
      let span = unsafe RawSpan(_unsafeStart: base, byteCount: count)
      return unsafe _overrideLifetime(span, borrowing: self)
    }
  }

  /// The bytes it holds, to be written.
  @inlinable
  @inline(__always)
  public var mutableBytes: MutableRawSpan {
    @_lifetime(&self)
    mutating get {
      // SAFETY: as above; the exclusive access to this value lasts as long as the span.
      let span = unsafe MutableRawSpan(_unsafeStart: base, byteCount: count)
      return unsafe _overrideLifetime(span, mutating: &self)
    }
  }

  /// Forgets the bytes and keeps the memory.
  @inlinable
  public mutating func removeAll() { heldCount = 0 }

  /// Overwrites the bytes with zeros and forgets them.
  @inlinable
  public mutating func wipe() {
    guard count > 0 else { return }
    // SAFETY: `count` bytes from `base` are ours.
    unsafe SystemMemory.overwrite(base, count)
    initializedCount = max(initializedCount, count)
    heldCount = 0
  }

  /// Forgets the bytes from `newCount` on.
  @inlinable
  public mutating func truncate(to newCount: Int) {
    precondition(newCount >= 0 && newCount <= count, "a buffer is truncated to at most its length")
    heldCount = newCount
  }

  /// Makes the length `newCount`; bytes that are new are whatever was there before: they are about to be read
  /// into.
  @inlinable
  public mutating func resizeForReading(to newCount: Int) {
    guard newCount > count else { return truncate(to: newCount) }
    let initialized = max(initializedCount, count)
    if newCount > initialized {
      heldCount = initialized
      appendZeros(newCount - initialized)
    }
    initializedCount = max(initialized, newCount)
    heldCount = newCount
  }

  /// Appends zeros.
  ///
  /// - Returns: Where they begin.
  @inlinable
  @discardableResult
  public mutating func appendZeros(_ byteCount: Int) -> Int {
    reserve(byteCount)
    // SAFETY: `reserve` made room for these bytes behind `count`.
    unsafe (base + count).initializeMemory(as: UInt8.self, repeating: 0, count: byteCount)
    heldCount += byteCount
    return heldCount - byteCount
  }

  /// Appends bytes.
  @inlinable
  public mutating func append(_ bytes: RawSpan) {
    reserve(bytes.byteCount)
    // SAFETY: `reserve` made room; source and destination can't overlap, as this value is exclusively ours.
    unsafe bytes.withUnsafeBytes { source in
      guard let start = source.baseAddress else { return }
      unsafe (base + count).copyMemory(from: start, byteCount: source.count)
    }
    heldCount += bytes.byteCount
  }

  /// Appends four integers, little-endian.
  @inlinable
  public mutating func append(_ first: UInt64, _ second: UInt64, _ third: UInt64, _ fourth: UInt64) {
    reserve(32)
    // SAFETY: `reserve` made room for these bytes behind `count`.
    let place = unsafe base + count
    unsafe place.storeBytes(of: first.littleEndian, toByteOffset: 0, as: UInt64.self)
    unsafe place.storeBytes(of: second.littleEndian, toByteOffset: 8, as: UInt64.self)
    unsafe place.storeBytes(of: third.littleEndian, toByteOffset: 16, as: UInt64.self)
    unsafe place.storeBytes(of: fourth.littleEndian, toByteOffset: 24, as: UInt64.self)
    heldCount += 32
  }

  /// Makes room for that many bytes more, at least doubling when it must grow.
  @inlinable
  public mutating func reserve(_ byteCount: Int) {
    precondition(byteCount >= 0, "a buffer grows by zero bytes or more")
    guard count + byteCount > capacity else { return }
    let newCapacity = max(count + byteCount, capacity * 2)
    // Only the bytes that it holds are copied.
    let written = max(count, initializedCount)
    initializedCount = 0
    // SAFETY: the old memory is freed once its `count` bytes have been copied; nobody else holds a pointer to
    // it.
    let newBase = UnsafeMutableRawPointer.allocate(byteCount: newCapacity, alignment: 16)
    unsafe newBase.copyMemory(from: base, byteCount: count)
    if isSecret { unsafe SystemMemory.overwrite(base, written) }
    unsafe base.deallocate()
    unsafe base = newBase
    allocatedCount = newCapacity
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied: whoever has it may use it on any
// thread.
extension Buffer: @unchecked Sendable {}

// MARK: - Memory for the block cache: mapped at once, taken from the system page by page as it is first written.

/// A fixed run of bytes with one owner; all are zero at first.
@safe public struct PageStore: ~Copyable {
  // SAFETY: what is there lives as long as this value; whoever takes it keeps the value.
  /// Where they are; nothing where there are none.
  public let base: UnsafeMutableRawPointer?

  /// How many bytes there are; none where the system refused.
  public let byteCount: Int

  public init(byteCount: Int, isFilled: Bool) {
    // SAFETY: fresh pages are zero; owned by this value alone, unmapped in deinit.
    if byteCount > 0, let mapping = unsafe SystemMemory.map(byteCount, isFilled: isFilled) {
      unsafe base = mapping.start
      self.byteCount = unsafe mapping.byteCount
    } else {
      unsafe base = nil
      self.byteCount = 0
    }
  }

  deinit {
    // SAFETY: this value alone owns the mapping, and nothing outlives it.
    if let base = unsafe base { unsafe SystemMemory.unmap(base, byteCount) }
  }

  /// Runs `body` on the bytes of a range.
  @inlinable
  @inline(__always)
  public func withBytes<Result>(_ range: Range<Int>, _ body: (RawSpan) -> Result) -> Result {
    guard let base = unsafe base, range.lowerBound >= 0, range.upperBound <= byteCount else {
      preconditionFailure("bytes are read within the store")
    }
    // SAFETY: the range was checked, and is mapped until this value goes.
    return unsafe body(RawSpan(_unsafeStart: base + range.lowerBound, byteCount: range.count))
  }

  // SAFETY: only where it is, is taken.
  /// Where the bytes begin; 0 where there are none. Not to be read by.
  @inlinable
  public var address: UInt { unsafe UInt(bitPattern: base) }

  /// Copies bytes to an offset. The caller sees to it that nobody reads or writes there meanwhile.
  public func copy(_ source: RawSpan, at offset: Int) {
    precondition(offset >= 0 && source.byteCount <= byteCount - offset, "bytes are copied within the store")
    // SAFETY: the range was checked; whoever copies has it to themselves, so source and destination don't
    // overlap.
    unsafe source.withUnsafeBytes { bytes in
      guard let from = bytes.baseAddress, let base = unsafe base else { return }
      unsafe (base + offset).copyMemory(from: from, byteCount: bytes.count)
    }
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied: whoever has it may use it on any
// thread.
extension PageStore: @unchecked Sendable {}
