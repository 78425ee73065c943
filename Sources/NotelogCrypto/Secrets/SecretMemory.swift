// Memory that holds secrets and nothing else: locked, out of core dumps, wiped on fork and on release.

import NotelogBase

/// Hands out memory for secrets.
///
/// Small secrets share slabs of 64-byte cells, larger ones get a mapping of their own; each mapping stands
/// between two inaccessible pages, so that an overrun is a crash and not a leak. What comes back is cleansed
/// at once.
///
/// One instance a process is the rule (``shared``): the limit on locked memory is the process's, too.
package final class SecretMemory: Sendable {
  package static let shared = SecretMemory()

  /// What one piece of memory may hold at most.
  static let byteCountMax = 1 << 20
  static let cellSize = 64
  private static let slabSize = 16 << 10
  /// How many pages that came back are kept for the next secrets: mapping and locking one takes six system
  /// calls.
  private static let spareMax = 2
  private static let aliveMark: UInt64 = 0x4E4C_414C_4956_4521

  private struct Slab {
    let base: UInt
    /// One bit a cell: 1 is taken.
    var taken = InlineArray<4, UInt64>(repeating: 0)
  }

  private struct State {
    var slabs: [Slab] = []
    /// Mappings of one page, cleansed and locked.
    var spares: [UInt] = []
    var granted: Platform.Granted = [.locked, .notDumped, .wipedOnFork]
    var lockedBytesLeft: Int
  }

  private let state: Lock<State>
  /// A word that is zero in a forked child.
  private let alive: UInt
  private let owner: Int32
  let wipesOnFork: Bool

  /// - Parameter lockedBytesMax: How much of it may be locked; less than the system's limit only in tests.
  package init(lockedBytesMax: Int = .max) {
    owner = Platform.processID()
    var state = State(lockedBytesLeft: lockedBytesMax)
    let page = Platform.pageSize
    // SAFETY: a fresh page, aligned, written before anyone else sees it.
    if let base = unsafe Platform.mapGuarded(byteCount: page) {
      state.granted.formIntersection(
        unsafe Platform.protect(base, byteCount: page, locking: false).union(.locked))
      unsafe base.storeBytes(of: Self.aliveMark, as: UInt64.self)
      alive = UInt(bitPattern: base)
    } else {
      alive = 0
      state.granted = []
    }
    wipesOnFork = state.granted.contains(.wipedOnFork)
    self.state = Lock(state)
  }

  deinit {
    let (slabs, spares) = state.withLock { ($0.slabs, $0.spares) }
    for spare in spares {
      // SAFETY: a spare mapping is nobody's.
      if let base = unsafe UnsafeMutableRawPointer(bitPattern: spare) {
        unsafe Platform.unmapGuarded(base, byteCount: Platform.pageSize)
      }
    }
    for slab in slabs {
      // SAFETY: every secret keeps its memory object alive, so none is left in the slab.
      if let base = unsafe UnsafeMutableRawPointer(bitPattern: slab.base) {
        unsafe Platform.unmapGuarded(base, byteCount: Self.slabSize)
      }
    }
    // SAFETY: made in init, with this size.
    if let alive = unsafe UnsafeMutableRawPointer(bitPattern: alive) {
      unsafe Platform.unmapGuarded(alive, byteCount: Platform.pageSize)
    }
  }

  /// Whether all memory given out so far is locked against swapping.
  package var isLocked: Bool { state.withLock { $0.granted.contains(.locked) } }

  /// What the system did not grant, in words for `info`; nil where it granted everything.
  package var note: String? {
    let granted = state.withLock { $0.granted }
    var missing: [String] = []
    if !granted.contains(.locked) { missing.append("not locked, so they may reach swap (see ulimit -l)") }
    if !granted.contains(.notDumped) { missing.append("not kept out of core dumps") }
    if !granted.contains(.wipedOnFork) { missing.append("not wiped in forked children") }
    return missing.isEmpty ? nil : "secrets in memory are " + missing.joined(separator: ", ")
  }

  /// Whether this is still the process that made it, and not a forked child.
  @inline(__always) var isOriginalProcess: Bool {
    // SAFETY: the word lives as long as this object, and is only read.
    guard wipesOnFork, let alive = unsafe UnsafeRawPointer(bitPattern: alive) else {
      return Platform.processID() == owner
    }
    return unsafe alive.load(as: UInt64.self) == Self.aliveMark
  }

  /// Zeroed memory.
  func allocate(byteCount: Int) throws(CryptoError) -> UnsafeMutableRawPointer {
    precondition(byteCount > 0)
    guard byteCount <= Self.byteCountMax else { throw .limitExceeded(.secret) }
    guard isOriginalProcess else { throw .forked }
    let granted: UInt? =
      byteCount <= Self.cellSize
      ? state.withLock { Self.allocateCell(&$0) } : state.withLock { Self.map(byteCount, &$0) }
    // SAFETY: a mapping's address, or one within it.
    guard let granted, let pointer = unsafe UnsafeMutableRawPointer(bitPattern: granted) else {
      throw .outOfMemory
    }
    return unsafe pointer
  }

  /// Cleanses the memory and takes it back.
  func release(_ pointer: UnsafeMutableRawPointer, byteCount: Int) {
    // SAFETY: the owner gives back what `allocate` gave it, once; nobody else holds a pointer into it.
    unsafe Platform.wipe(pointer, byteCount: byteCount)
    // In a forked child another thread's lock may be held for ever; the memory there is zero already.
    guard isOriginalProcess else { return }
    let address = UInt(bitPattern: pointer)
    guard byteCount <= Self.cellSize else {
      let mapped = Self.mappedCount(byteCount)
      if mapped == Platform.pageSize, state.withLock({ Self.keepSpare(address, &$0) }) { return }
      unsafe Platform.unmapGuarded(pointer, byteCount: mapped)
      state.withLock {
        if $0.granted.contains(.locked), $0.lockedBytesLeft != .max { $0.lockedBytesLeft += mapped }
      }
      return
    }
    state.withLock { state in
      for index in state.slabs.indices where address &- state.slabs[index].base < UInt(Self.slabSize) {
        let cell = Int(address - state.slabs[index].base) / Self.cellSize
        state.slabs[index].taken[cell >> 6] &= ~(1 << UInt64(cell & 63))
        return
      }
    }
  }

  private static func allocateCell(_ state: inout State) -> UInt? {
    for index in state.slabs.indices {
      for word in 0..<4 where state.slabs[index].taken[word] != .max {
        let bit = (~state.slabs[index].taken[word]).trailingZeroBitCount
        state.slabs[index].taken[word] |= 1 << UInt64(bit)
        return state.slabs[index].base + UInt((word << 6 | bit) * cellSize)
      }
    }
    guard let base = map(slabSize, &state) else { return nil }
    var slab = Slab(base: base)
    slab.taken[0] = 1
    state.slabs.append(slab)
    return base
  }

  /// Keeps a page for the next secret. Where not all memory could be locked, this page may be one that isn't,
  /// and one that is made anew may be.
  private static func keepSpare(_ address: UInt, _ state: inout State) -> Bool {
    guard state.spares.count < spareMax, state.granted.contains(.locked) else { return false }
    state.spares.append(address)
    return true
  }

  private static func map(_ byteCount: Int, _ state: inout State) -> UInt? {
    let mapped = mappedCount(byteCount)
    if mapped == Platform.pageSize, let spare = state.spares.popLast() { return spare }
    // SAFETY: a mapping just made, of this size.
    guard let base = unsafe Platform.mapGuarded(byteCount: mapped) else { return nil }
    let mayLock = mapped <= state.lockedBytesLeft
    let granted = unsafe Platform.protect(base, byteCount: mapped, locking: mayLock)
    if granted.contains(.locked), state.lockedBytesLeft != .max { state.lockedBytesLeft -= mapped }
    state.granted.formIntersection(granted)
    return UInt(bitPattern: base)
  }

  private static func mappedCount(_ byteCount: Int) -> Int {
    (byteCount + Platform.pageSize - 1) / Platform.pageSize * Platform.pageSize
  }
}
