// Memory that holds secrets and nothing else: locked, out of core dumps, wiped on fork and on release.

import NotelogBase

/// Hands out memory for secrets.
///
/// Keys, and the pages of what seals, share slabs of 64 cells; what is larger gets a mapping of its own. Each
/// mapping stands between two inaccessible pages, so that an overrun is a crash and not a leak. What comes
/// back is cleansed at once.
///
/// One instance a process is the rule (``shared``): the limit on locked memory is the process's, too.
package final class SecretMemory: Sendable {
  package static let shared = SecretMemory()

  /// What one piece of memory may hold at most.
  static let byteCountMax = 1 << 20
  private static let cellSize = 256
  private static let slabSize = 64 * cellSize
  private static let aliveMark: UInt64 = 0x4E4C_414C_4956_4521

  private struct Slab {
    let base: UInt
    /// One bit a cell: 1 is taken.
    var taken: UInt64 = 1
  }

  private struct State {
    var slabs: [Slab] = []
    var granted: Platform.Granted = [.locked, .notDumped, .wipedOnFork]
  }

  private let state: Lock<State>
  /// A word that is zero in a forked child.
  private let alive: UInt
  private let owner: Int32
  private let isLocking: Bool
  let wipesOnFork: Bool

  /// - Parameter isLocking: Whether it is locked against swapping; only tests go without.
  package init(isLocking: Bool = true) {
    self.isLocking = isLocking
    owner = processIdentifier
    var state = State()
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
    for slab in state.withLock(\.slabs) {
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
      return processIdentifier == owner
    }
    return unsafe alive.load(as: UInt64.self) == Self.aliveMark
  }

  /// Zeroed memory.
  func allocate(byteCount: Int) throws(CryptoError) -> UnsafeMutableRawPointer {
    precondition(byteCount > 0)
    guard byteCount <= Self.byteCountMax else { throw .limitExceeded(.secret) }
    guard isOriginalProcess else { throw .forked }
    let granted: UInt? =
      state.withLock { byteCount <= Self.cellSize ? allocateCell(&$0) : map(byteCount, &$0) }
    // SAFETY: a mapping's address, or one within it.
    guard let granted, let pointer = unsafe UnsafeMutableRawPointer(bitPattern: granted) else {
      throw .outOfMemory
    }
    return unsafe pointer
  }

  /// Cleanses the memory and takes it back.
  func release(_ pointer: UnsafeMutableRawPointer, byteCount: Int) {
    // SAFETY: the owner gives back what `allocate` gave it, once; nobody else holds a pointer into it.
    unsafe SystemMemory.overwrite(pointer, byteCount)
    // In a forked child another thread's lock may be held for ever; the memory there is zero already.
    guard isOriginalProcess else { return }
    let address = UInt(bitPattern: pointer)
    guard byteCount <= Self.cellSize else {
      return unsafe Platform.unmapGuarded(pointer, byteCount: Self.mappedCount(byteCount))
    }
    state.withLock { state in
      for index in state.slabs.indices where address &- state.slabs[index].base < UInt(Self.slabSize) {
        let cell = (address - state.slabs[index].base) / UInt(Self.cellSize)
        state.slabs[index].taken &= ~(1 << UInt64(cell))
        return
      }
    }
  }

  private func allocateCell(_ state: inout State) -> UInt? {
    for index in state.slabs.indices where state.slabs[index].taken != .max {
      let cell = (~state.slabs[index].taken).trailingZeroBitCount
      state.slabs[index].taken |= 1 << UInt64(cell)
      return state.slabs[index].base + UInt(cell * Self.cellSize)
    }
    guard let base = map(Self.slabSize, &state) else { return nil }
    state.slabs.append(Slab(base: base))
    return base
  }

  private func map(_ byteCount: Int, _ state: inout State) -> UInt? {
    let mapped = Self.mappedCount(byteCount)
    // SAFETY: a mapping just made, of this size.
    guard let base = unsafe Platform.mapGuarded(byteCount: mapped) else { return nil }
    state.granted.formIntersection(unsafe Platform.protect(base, byteCount: mapped, locking: isLocking))
    return UInt(bitPattern: base)
  }

  private static func mappedCount(_ byteCount: Int) -> Int {
    (byteCount + Platform.pageSize - 1) / Platform.pageSize * Platform.pageSize
  }
}
