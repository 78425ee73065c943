// XAES-256-GCM under one key, for one thread at a time (FORMAT.md 11.1, 21.5; C2SP XAES-256-GCM).

import NotelogBase

/// The secret memory.
private enum Page {
  static let size = 256
  /// The salt that the sealing context is keyed with, as a ``DerivedKeyCache/Salt``.
  static let sealingSalt = 8
  static let tag = 96
  /// CMAC's first subkey K1.
  static let cmacKey = 112
  /// `00 01 "X" 00 0…` ⊕ K1 and `00 02 "X" 00 0…` ⊕ K1: what a salt is laid over.
  static let prefixes = 128
  static let blocks = 160
  static let subkey = 192
  /// The IV of the value being sealed, as one aligned store: what OpenSSL reads back at once.
  static let initialisationVector = 224
}

/// Everything that one call of seal or open touches: the key's block cipher, a context for sealing and those
/// for opening, and secret memory that holds the derived keys.
///
/// Used by one thread at a time; who uses it is the business of ``SealingKey``.
struct XAES: ~Copyable {
  private let library: OpenSSL
  private let sealing: CipherContext
  private let opening: DerivedKeyCache
  private let page: Secret
  let memory: SecretMemory

  /// - Parameters:
  ///   - key: Thirty-two bytes.
  ///   - memory: Where its page is taken from.
  ///   - functions: What implements AES-256-GCM.
  /// - Throws: ``CryptoError/outOfMemory``, ``CryptoError/forked``, ``CryptoError/library``.
  init(
    key: borrowing Secret, memory: SecretMemory = .shared, _ functions: CipherFunctions = OpenSSL.functions
  ) throws(CryptoError) {
    precondition(key.byteCount == 32)
    let page = try Secret(byteCount: Page.size, in: memory)
    // SAFETY: the key has thirty-two bytes, and all offsets lie within the page.
    let base = unsafe page.pointer
    let library = try unsafe OpenSSL(
      key: key.pointer.assumingMemoryBound(to: UInt8.self), tag: base + Page.tag, functions)
    let sealing = try library.makeContext()
    let opening = DerivedKeyCache(shared: try library.makeContext())
    try unsafe Self.prepareDerivation(library, base)
    self.page = page
    self.library = library
    self.sealing = sealing
    self.opening = opening
    self.memory = memory
  }

  // MARK: sealing

  /// Seals under the next nonce of a run, and with the run's derived key where this context still has it.
  @inline(__always) borrowing func seal(
    _ plaintext: UnsafeRawBufferPointer, additionalData: UnsafeRawBufferPointer, nonces run: inout NonceRun,
    to output: UnsafeMutableRawPointer
  ) -> CryptoError? {
    guard memory.isOriginalProcess else { return .forked }
    guard run.advance() else { return .noRandomness }
    // SAFETY: the caller's pointers, as they came.
    return unsafe seal(plaintext, additionalData: additionalData, nonce: run.words, to: output)
  }

  /// Seals under a nonce given as three little-endian words, which is also written in front of the
  /// ciphertext.
  @inline(__always) borrowing func seal(
    _ plaintext: UnsafeRawBufferPointer, additionalData: UnsafeRawBufferPointer,
    nonce: InlineArray<3, UInt64>, to output: UnsafeMutableRawPointer
  ) -> CryptoError? {
    // SAFETY: `output` has room for nonce, ciphertext and tag; all page offsets are constants within the
    // page.
    let base = unsafe page.pointer
    for index in 0..<3 {
      unsafe output.storeBytes(of: nonce[index].littleEndian, toByteOffset: 8 * index, as: UInt64.self)
    }
    let vector = SIMD2(nonce[1] >> 32 | nonce[2] << 32, nonce[2] >> 32)
    unsafe base.storeBytes(of: vector, toByteOffset: Page.initialisationVector, as: SIMD2<UInt64>.self)
    let salt = DerivedKeyCache.Salt(nonce)
    let memo = unsafe base + Page.sealingSalt
    let isKeyed = unsafe memo.load(as: DerivedKeyCache.Salt.self) == salt
    guard isKeyed || deriveKey(nonce) else { return .library }
    let sealed = unsafe library.seal(
      in: sealing, key: isKeyed ? nil : (base + Page.subkey).assumingMemoryBound(to: UInt8.self),
      initialisationVector: (base + Page.initialisationVector).assumingMemoryBound(to: UInt8.self),
      additionalData: additionalData, plaintext, to: output + SealedValue.nonceSize)
    unsafe memo.storeBytes(of: sealed ? salt : .none, as: DerivedKeyCache.Salt.self)
    guard sealed else { return .library }
    let tag = unsafe output + (SealedValue.nonceSize + plaintext.count)
    unsafe tag.copyMemory(from: base + Page.tag, byteCount: SealedValue.tagSize)
    return nil
  }

  // MARK: opening

  /// Opens a sealed value of at least 40 bytes; `output` has 40 bytes fewer, and is wiped where it is
  /// refused.
  @inline(__always) borrowing func open(
    _ sealed: UnsafeRawBufferPointer, additionalData: UnsafeRawBufferPointer,
    to output: UnsafeMutableRawBufferPointer
  ) -> CryptoError? {
    guard memory.isOriginalProcess else { return .forked }
    // SAFETY: the page lives as long as this value; a sealed value starts with its twenty-four bytes of nonce
    // and ends with its tag; `output` is as long as the ciphertext.
    let base = unsafe page.pointer
    guard let start = sealed.baseAddress else { return .tampered }
    var nonce = InlineArray<3, UInt64>(repeating: 0)
    for index in 0..<3 {
      // SAFETY: a sealed value starts with its twenty-four bytes of nonce.
      nonce[index] = unsafe UInt64(
        littleEndian: start.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self))
    }
    let count = sealed.count - SealedValue.overhead
    let salt = DerivedKeyCache.Salt(nonce)
    let index = opening.index(of: salt, library)
    let isKeyed = opening.isKeyed(salt, at: index)
    guard isKeyed || deriveKey(nonce) else { return .library }
    // SAFETY: as above; the tag is the sealed value's last sixteen bytes.
    unsafe (base + Page.tag).copyMemory(
      from: start + (SealedValue.nonceSize + count), byteCount: SealedValue.tagSize)
    // An empty value has no buffer, and OpenSSL still wants a pointer: the tag's place, never written to.
    let target = unsafe output.baseAddress ?? base + Page.tag
    let ciphertext = unsafe UnsafeRawBufferPointer(start: start + SealedValue.nonceSize, count: count)
    let opened = unsafe opening.open(
      at: index, salt, library, key: isKeyed ? nil : (base + Page.subkey).assumingMemoryBound(to: UInt8.self),
      initialisationVector: (start + SealedValue.saltSize).assumingMemoryBound(to: UInt8.self),
      additionalData: additionalData, ciphertext, to: target)
    if opened { return nil }
    if count > 0 { unsafe SystemMemory.overwrite(target, count) }
    return .tampered
  }

  // MARK: the key commitment

  /// KC-XAES's commitment to this key and a nonce: CMAC("XCMT" ‖ nonce ‖ 00 01 00 0i) for i = 1, 2.
  borrowing func commitment(to nonce: InlineArray<3, UInt64>) throws(CryptoError) -> [UInt8] {
    // SAFETY: all offsets are constants within the page, aligned to eight. The words are little-endian.
    let base = unsafe page.pointer
    let blocks = unsafe base + Page.blocks
    var result = [UInt8](repeating: 0, count: 32)
    unsafe blocks.storeBytes(of: (0x544D_4358 | nonce[0] << 32).littleEndian, as: UInt64.self)
    unsafe blocks.storeBytes(
      of: (nonce[0] >> 32 | nonce[1] << 32).littleEndian, toByteOffset: 8, as: UInt64.self)
    guard unsafe library.encrypt(blocks, to: blocks, byteCount: 16) else { throw .library }
    let mask0 = unsafe blocks.load(as: UInt64.self) ^ (base + Page.cmacKey).load(as: UInt64.self)
    let mask1 = unsafe (blocks + 8).load(as: UInt64.self) ^ (base + Page.cmacKey + 8).load(as: UInt64.self)
    let first = nonce[1] >> 32 | nonce[2] << 32
    for half in 0..<2 {
      let second = nonce[2] >> 32 | (half == 0 ? 0x0100_0100 : 0x0200_0100) << 32
      unsafe blocks.storeBytes(of: first.littleEndian ^ mask0, toByteOffset: 16 * half, as: UInt64.self)
      unsafe blocks.storeBytes(of: second.littleEndian ^ mask1, toByteOffset: 16 * half + 8, as: UInt64.self)
    }
    guard unsafe library.encrypt(blocks, to: blocks, byteCount: 32) else { throw .library }
    for index in 0..<32 { unsafe result[index] = blocks.load(fromByteOffset: index, as: UInt8.self) }
    return result
  }

  // MARK: the same cipher without a mode

  /// Encrypts blocks of sixteen bytes where they lie.
  @inline(__always) borrowing func encrypt(_ blocks: UnsafeMutableRawBufferPointer) -> Bool {
    guard let start = blocks.baseAddress else { return true }
    // SAFETY: the caller's bytes, read and written within their size.
    return unsafe library.encrypt(start, to: start, byteCount: Int32(blocks.count))
  }

  /// PMAC of two blocks and the bytes behind them (FORMAT.md 27): its blocks don't wait for each other, as those
  /// of CMAC do.
  borrowing func pmac(_ head: (ID16, ID16), _ bytes: RawSpan) -> ID16? {
    let blockCount = 2 + (bytes.byteCount + 15) / 16
    // SAFETY: the page holds K1, which is L(1).
    let base = unsafe page.pointer
    var power = unsafe FieldElement((base + Page.cmacKey).load(as: SIMD2<UInt64>.self)).halved
    let ofWholeBlock = power.halved.block
    var powers = InlineArray<24, SIMD2<UInt64>>(repeating: .zero)
    for index in 0...max(2, blockCount.bitWidth - blockCount.leadingZeroBitCount) {
      powers[index] = power.block
      power = power.doubled
    }
    var (offset, sum) = (SIMD2<UInt64>.zero, SIMD2<UInt64>.zero)
    var piece = InlineArray<32, SIMD2<UInt64>>(repeating: .zero)
    for start in stride(from: 0, to: blockCount - 1, by: piece.count) {
      let count = min(piece.count, blockCount - 1 - start)
      // Of four blocks, the offsets differ from the one before them by the same but for the last.
      for index in stride(from: 0, to: count, by: 4) {
        let next = offset ^ powers[1] ^ powers[(start + index + 4).trailingZeroBitCount]
        piece[index] = block(start + index, head, bytes) ^ offset ^ powers[0]
        piece[index + 1] = block(start + index + 1, head, bytes) ^ offset ^ powers[0] ^ powers[1]
        piece[index + 2] = block(start + index + 2, head, bytes) ^ offset ^ powers[1]
        piece[index + 3] = block(start + index + 3, head, bytes) ^ next
        offset = next
      }
      guard encrypt(&piece, count) else { return nil }
      for index in 0..<count { sum ^= piece[index] }
    }
    // What is left is a block, or the beginning of one.
    var end = UInt128(head.1.high) << 64 | UInt128(head.1.low)
    let left = bytes.byteCount - 16 * (blockCount - 3)
    if bytes.byteCount >= 16 {
      end = bytes.load(UInt128.self, at: bytes.byteCount - 16) >> UInt128(8 * (16 - left))
    } else if bytes.byteCount > 0 {
      end = (0..<left).reduce(0) { $0 | UInt128(bytes.byte(at: $1)) << UInt128(8 * $1) }
    }
    if left < 16 { end |= 0x80 << UInt128(8 * left) } else { sum ^= ofWholeBlock }
    piece[0] = sum ^ SIMD2(UInt64(truncatingIfNeeded: end), UInt64(truncatingIfNeeded: end >> 64))
    guard encrypt(&piece, 1) else { return nil }
    return ID16(low: piece[0][0], high: piece[0][1])
  }

  /// A block of what is authenticated; zeros where it is not whole.
  @inline(__always) private borrowing func block(
    _ index: Int, _ head: (ID16, ID16), _ bytes: RawSpan
  ) -> SIMD2<UInt64> {
    if index < 2 {
      let id = index == 0 ? head.0 : head.1
      return SIMD2(id.low, id.high)
    }
    let place = 16 * (index - 2)
    guard place + 16 <= bytes.byteCount else { return .zero }
    // SAFETY: all sixteen bytes are there.
    return unsafe bytes.unsafeLoadUnaligned(fromUncheckedByteOffset: place, as: SIMD2<UInt64>.self)
  }

  /// Encrypts the first blocks of a piece.
  private borrowing func encrypt(_ piece: inout InlineArray<32, SIMD2<UInt64>>, _ count: Int) -> Bool {
    var span = piece.mutableSpan
    // SAFETY: a piece has thirty-two blocks of sixteen bytes, and any bits are words.
    return unsafe span.withUnsafeMutableBytes {
      unsafe encrypt(UnsafeMutableRawBufferPointer(start: $0.baseAddress, count: 16 * count))
    }
  }

  // MARK: keys

  /// Kx = AES(M1 ⊕ K1) ‖ AES(M2 ⊕ K1): the field's own key, left in the page.
  @inline(__always) private borrowing func deriveKey(_ nonce: InlineArray<3, UInt64>) -> Bool {
    // SAFETY: all offsets are constants within the page, aligned to eight.
    let base = unsafe page.pointer
    let low = (nonce[0] << 32).littleEndian
    let high = (nonce[0] >> 32 | nonce[1] << 32).littleEndian
    for half in 0..<2 {
      let prefix = unsafe base + Page.prefixes + 16 * half
      let block = unsafe base + Page.blocks + 16 * half
      unsafe block.storeBytes(of: prefix.load(as: UInt64.self) ^ low, as: UInt64.self)
      unsafe block.storeBytes(
        of: prefix.load(fromByteOffset: 8, as: UInt64.self) ^ high, toByteOffset: 8, as: UInt64.self)
    }
    return unsafe library.encrypt(base + Page.blocks, to: base + Page.subkey, byteCount: 32)
  }

  /// K1 = dbl(AES(0)), and the two blocks that only lack a salt.
  private static func prepareDerivation(_ library: borrowing OpenSSL, _ base: UnsafeMutableRawPointer)
    throws(CryptoError)
  {
    // SAFETY: all offsets are constants within the page, aligned to eight.
    unsafe (base + Page.cmacKey).initializeMemory(as: UInt8.self, repeating: 0, count: 16)
    guard unsafe library.encrypt(base + Page.cmacKey, to: base + Page.cmacKey, byteCount: 16) else {
      throw .library
    }
    let first = unsafe FieldElement((base + Page.cmacKey).load(as: SIMD2<UInt64>.self)).doubled
    unsafe (base + Page.cmacKey).storeBytes(of: first.block, as: SIMD2<UInt64>.self)
    for (half, start) in [UInt64(0x0001_5800_0000_0000), 0x0002_5800_0000_0000].enumerated() {
      let prefix = unsafe base + Page.prefixes + 16 * half
      unsafe prefix.storeBytes(of: (start ^ first.high).bigEndian, as: UInt64.self)
      unsafe prefix.storeBytes(of: first.low.bigEndian, toByteOffset: 8, as: UInt64.self)
    }
  }

  /// A part of the page, for tests of the intermediate values.
  borrowing func pageBytes(_ range: Range<Int>) -> [UInt8] { page.array(range) }
}

/// A block as an element of GF(2^128), its first bit the highest power of x: what CMAC and PMAC multiply.
private struct FieldElement {
  let high: UInt64
  let low: UInt64

  /// The block as it lies in memory.
  var block: SIMD2<UInt64> { SIMD2(high.bigEndian, low.bigEndian) }

  /// The element in a block.
  init(_ block: SIMD2<UInt64>) { (high, low) = (UInt64(bigEndian: block[0]), UInt64(bigEndian: block[1])) }

  private init(_ high: UInt64, _ low: UInt64) { (self.high, self.low) = (high, low) }

  /// It, times x.
  var doubled: FieldElement {
    FieldElement(high << 1 | low >> 63, low << 1 ^ (0 &- (high >> 63)) & 0x87)
  }

  /// It, divided by x.
  var halved: FieldElement {
    FieldElement(high >> 1 ^ low << 63, (low >> 1 | high << 63) ^ (0 &- (low & 1)) & 0x43)
  }
}
