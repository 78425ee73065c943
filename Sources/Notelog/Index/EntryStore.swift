// Memory for one shard of the index: slots of 16 bytes, given back to the system when the shard has outgrown
// them.

import NotelogBase

/// An entry of the index: a fingerprint of a record's id, and the place of its newest frame.
struct IndexEntry: Hashable, Sendable, BitwiseCopyable {
  var fingerprint: UInt64
  var place: FrameAddress

  /// The bytes an entry takes, in memory and in a checkpoint.
  static let byteCount = 16
  /// What a slot holds that holds nothing.
  static let empty = IndexEntry(fingerprint: 0, place: .none)
}

extension IndexEntry {
  /// An entry as a checkpoint has it.
  init(_ bytes: RawSpan, at start: Int) {
    fingerprint = bytes.load(UInt64.self, at: start)
    place = FrameAddress(bits: bytes.load(UInt64.self, at: start + 8))
  }
}

/// A fixed number of slots with one owner; all are empty at first.
///
/// All but small ones are mapped, not taken from the heap: a table of ten million entries that grows a shard
/// at a time would leave holes there that are counted as ours for ever. There are 256 such tables, so that
/// small ones leave a few MiB, which footers in the making fit into.
@safe struct EntryStore: ~Copyable {
  private let slots: UnsafeMutableBufferPointer<IndexEntry>
  private let isMapped: Bool

  private static let smallestMapping = 1 << 14

  /// That many slots, rounded up to whole pages where they are mapped; none is no memory at all.
  init(count: Int) {
    let byteCount = count * IndexEntry.byteCount
    if byteCount >= Self.smallestMapping, let mapping = unsafe SystemMemory.map(byteCount) {
      // SAFETY: fresh pages are zero, which is what an empty entry is; owned by this value alone, unmapped in
      // deinit.
      let count = unsafe mapping.byteCount / IndexEntry.byteCount
      unsafe slots = UnsafeMutableBufferPointer(
        start: mapping.start.bindMemory(to: IndexEntry.self, capacity: count), count: count)
      isMapped = true
      // A page that is read first is one of zeros that everybody shares; to write to it then is to have it
      // replaced, and all threads interrupted for that.
      for offset in stride(from: 0, to: unsafe mapping.byteCount, by: 4096) {
        unsafe mapping.start.storeBytes(of: 0, toByteOffset: offset, as: UInt8.self)
      }
    } else {
      // SAFETY: allocated here, owned by this value alone, every slot initialised, freed in deinit. There are
      // hundreds of stores without a slot in a store that was just opened.
      unsafe slots =
        count == 0 ? UnsafeMutableBufferPointer(start: nil, count: 0) : .allocate(capacity: count)
      unsafe slots.initialize(repeating: .empty)
      isMapped = false
    }
  }

  /// How many slots there are.
  // SAFETY: nothing is read.
  @inline(__always)
  var count: Int { unsafe slots.count }

  /// The same slots once more.
  init(copying other: borrowing EntryStore) {
    self.init(count: other.count)
    precondition(count >= other.count, "a copy has room for all slots")
    // SAFETY: both have that many slots, all initialised, in memory of their own.
    _ = unsafe slots.update(fromContentsOf: other.slots)
  }

  deinit {
    // SAFETY: this value alone owns the memory, and gives it back the way it was had.
    if isMapped, let base = unsafe slots.baseAddress {
      unsafe SystemMemory.unmap(base, count * IndexEntry.byteCount)
    } else {
      unsafe slots.deallocate()
    }
  }

  /// A slot; out of bounds is a programmer's mistake and traps.
  subscript(index: Int) -> IndexEntry {
    @inline(__always)
    get {
      precondition(index >= 0 && index < count, "a slot is read within the store")
      // SAFETY: the bounds were checked, and every slot is initialised.
      return unsafe slots[index]
    }
    @inline(__always)
    set {
      precondition(index >= 0 && index < count, "a slot is written within the store")
      // SAFETY: as above; writing needs exclusive access to this value.
      unsafe slots[index] = newValue
    }
  }

  /// The address of the first slot.
  // SAFETY: nothing is read.
  var start: UInt { unsafe UInt(bitPattern: slots.baseAddress) }

  /// Moves the entries of a range up or down; what they leave behind keeps its bytes.
  mutating func move(_ range: Range<Int>, by distance: Int) {
    precondition(range.lowerBound >= 0 && range.upperBound <= count, "entries are moved within the store")
    precondition(
      range.lowerBound + distance >= 0 && range.upperBound + distance <= count,
      "entries are moved within the store")
    guard let base = unsafe slots.baseAddress else { return }
    // SAFETY: both ranges were checked; `update` allows them to overlap.
    unsafe (base + range.lowerBound + distance).update(from: base + range.lowerBound, count: range.count)
  }
}

// SAFETY: the memory has one owner, the value, which can't be copied: whoever has it may use it on any
// thread.
extension EntryStore: @unchecked Sendable {}
