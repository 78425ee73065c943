// Memory for the block cache: mapped at once, taken from the system page by page as it is first written.

// Public for the optimiser alone (docs/decisions/0076).
// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation

internal import CSystem

/// A fixed run of bytes with one owner; all are zero at first.
@safe public struct PageStore: ~Copyable {
  @usableFromInline let base: UnsafeMutableRawPointer?

  /// How many bytes there are; none where the system refused.
  public let byteCount: Int

  @inlinable
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
  @inlinable
  public func copy(_ source: RawSpan, at offset: Int) {
    precondition(offset >= 0 && source.byteCount <= byteCount - offset, "bytes are copied within the store")
    // SAFETY: the range was checked; whoever copies has it to themselves, so source and destination don't overlap.
    unsafe source.withUnsafeBytes { bytes in
      guard let from = bytes.baseAddress, let base = unsafe base else { return }
      unsafe (base + offset).copyMemory(from: from, byteCount: bytes.count)
    }
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied: whoever has it may use it on any thread.
extension PageStore: @unchecked Sendable {}
