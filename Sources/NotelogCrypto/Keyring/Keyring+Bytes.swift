// Reading and writing a keyring, and what is added behind it (docs/format-keyring.md 10.7).

import NotelogBase

extension Keyring {
  /// Reads a keyring. Whatever is damaged, unknown or beyond a limit is refused here, before any work.
  ///
  /// The digests in it find damage without a key; that nobody forged it shows at unlock, by its MAC. Additions are read up to the first
  /// that does not check: a crash may have left the beginning of one.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - workFactorLimit: The most work that a password slot may ask for.
  /// - Throws: ``CryptoError/damagedKeyring(_:)``, ``CryptoError/unsupported(_:)``,
  ///   ``CryptoError/limitExceeded(_:)``.
  package init(parsing bytes: [UInt8], workFactorLimit: WorkFactor = .mostRead) throws(CryptoError) {
    guard bytes.count <= Self.byteCountMax else { throw .limitExceeded(.keyringSize) }
    guard bytes.count >= Self.headerSize + Self.digestSize + Self.macSize else {
      throw .damagedKeyring(.length)
    }
    guard bytes.starts(with: Self.magic) else { throw .damagedKeyring(.magic) }
    let size = Int(bytes.rawSpan.load(UInt32.self, at: 12))
    guard (Self.headerSize + Self.macSize + Self.digestSize...bytes.count).contains(size) else {
      throw .damagedKeyring(.length)
    }
    let end = size - Self.macSize - Self.digestSize
    digest = Array(bytes[(end + Self.macSize)..<size])
    guard try Crypto.sha256(Array(bytes[..<(end + Self.macSize)])) == digest else {
      throw .damagedKeyring(.digest)
    }
    mac = Array(bytes[end..<end + Self.macSize])
    var reader = KeyringCursor(bytes.rawSpan.extracting(first: end), failure: Self.fault)
    _ = try reader.array(Self.magic.count)
    let version = try reader.integer(as: UInt16.self)
    guard version == Self.version else { throw .unsupported(.keyringVersion(version)) }
    try reader.wrapSuite()
    try reader.reserved(1)
    _ = try reader.array(4)
    storeID = ID16(try reader.array(16))
    generation = try reader.integer()
    rootGeneration = try reader.integer()
    nextKeyReference = try reader.integer()
    let slotCount = try reader.integer(as: UInt16.self)
    let wrappingKeyCount = try reader.integer(as: UInt16.self)
    let namedKeyCount = try reader.integer(as: UInt16.self)
    nextWrappingNumber = try reader.integer()
    let dataKeyCount = try reader.integer(as: UInt32.self)
    nextSlotID = try reader.integer()
    guard slotCount <= Self.slotsMax else { throw .limitExceeded(.slots) }
    guard wrappingKeyCount <= Self.wrappingKeysMax else { throw .damagedKeyring(.range) }
    guard dataKeyCount <= Self.dataKeysMax else { throw .limitExceeded(.keyGenerations) }
    (slots, wrappingKeys, namedKeys, dataKeys) = ([], [], [], [])
    for _ in 0..<slotCount { slots.append(try Slot(&reader, workFactorLimit: workFactorLimit)) }
    for _ in 0..<wrappingKeyCount { wrappingKeys.append(try WrappingKey(&reader)) }
    for _ in 0..<namedKeyCount { namedKeys.append(try NamedKey(&reader)) }
    for _ in 0..<dataKeyCount { dataKeys.append(try DataKey(&reader)) }
    guard reader.remaining == 0 else { throw .damagedKeyring(.length) }
    baseByteCount = size
    self.bytes = Array(bytes[..<size])
    while self.bytes.count < bytes.count {
      do throws(CryptoError) { try add(bytes, from: self.bytes.count) } catch {
        hasTail = true
        break
      }
    }
    try checkConsistency()
  }

  private static func fault(_ fault: KeyringCursor.Fault, _: StaticString, _: Int) -> CryptoError {
    .damagedKeyring(fault == .reserved ? .reserved : .length)
  }

  /// Where the generation stands in the file, without additions.
  package static let generationOffset = 32

  /// Everything but MAC and digest: what the MAC covers.
  private var body: [UInt8] {
    var bytes = Self.magic
    bytes.reserveCapacity(self.bytes.count + 4096)
    bytes.append(littleEndian: Self.version)
    bytes += [Suite.wraps.rawValue, 0, 0, 0, 0, 0]
    bytes += storeID.array
    bytes.append(littleEndian: generation)
    bytes.append(littleEndian: rootGeneration)
    bytes.append(littleEndian: nextKeyReference)
    for count in [slots.count, wrappingKeys.count, namedKeys.count, Int(nextWrappingNumber)] {
      bytes.append(littleEndian: UInt16(count))
    }
    bytes.append(littleEndian: UInt32(dataKeys.count))
    bytes.append(littleEndian: nextSlotID)
    for slot in slots { slot.append(to: &bytes) }
    for key in wrappingKeys { key.append(to: &bytes) }
    for key in namedKeys { key.append(to: &bytes) }
    for key in dataKeys { key.append(to: &bytes) }
    Self.store(bytes.count + Self.macSize + Self.digestSize, in: &bytes, at: 12)
    return bytes
  }

  /// Computes MAC and digest, the last step of every change but those that only add.
  mutating func seal(root: borrowing Secret) throws(CryptoError) {
    bytes = body
    let key = try macKey(root)
    mac = try Crypto.hmacSHA256(key: key.bytes, bytes.rawSpan)
    digest = try Crypto.sha256(bytes + mac)
    bytes += mac + digest
    (baseByteCount, hasTail) = (bytes.count, false)
  }

  private func macKey(_ root: borrowing Secret) throws(CryptoError) -> Secret {
    try derive("NL1/keyring", root: root)
  }

  /// Whether the unlock root made all MACs: the keyring's, and that of each addition.
  func verifyMAC(root: borrowing Secret) throws(CryptoError) -> Bool {
    var (start, end) = (0, baseByteCount)
    var before: [UInt8] = []
    let key = try macKey(root)
    while true {
      let macStart = end - Self.macSize - Self.digestSize
      let found = Array(bytes[macStart..<macStart + Self.macSize])
      let message = before + bytes[start..<macStart]
      let expected = try Crypto.hmacSHA256(key: key.bytes, message.rawSpan)
      guard Crypto.areEqual(found, expected) else { return false }
      guard end < bytes.count else { return true }
      (before, start) = (found, end)
      end += Int(bytes.rawSpan.load(UInt32.self, at: end))
    }
  }

  /// That the tables are in order and refer to each other.
  private func checkConsistency() throws(CryptoError) {
    guard Self.ascends(slots.map(\.id)), Self.ascends(wrappingKeys.map(\.order)),
      Self.ascends(namedKeys.map(\.number)), Self.ascends(dataKeys.map(\.order))
    else { throw .damagedKeyring(.order) }
    guard slots.count(where: { $0.kind == .password }) <= Self.passwordSlotsMax else {
      throw .limitExceeded(.slots)
    }
    let roles = Dictionary(wrappingKeys.map { ($0.number, $0.role) }) { one, _ in one }
    let named = Dictionary(uniqueKeysWithValues: namedKeys.map { ($0.number, $0) })
    let areDataKeysSound = dataKeys.allSatisfy { key in
      let role = roles[key.wrappingKey]
      return (role == key.accessClass.rawValue || role == WrappingKey.grantRole)
        && named[key.number]?.accessClass == key.accessClass
        && named[key.number]?.isEffaceable == key.isEffaceable
    }
    guard !slots.isEmpty, slots.allSatisfy({ $0.id < nextSlotID }),
      slots.allSatisfy({ $0.kind == nil || $0.rootGeneration == rootGeneration }),
      slots.allSatisfy({ $0.grant == 0 || roles[$0.grant] == WrappingKey.grantRole }),
      wrappingKeys.allSatisfy({
        $0.rootGeneration == rootGeneration && (1..<max(1, UInt32(nextWrappingNumber))).contains($0.number)
      }), dataKeys.allSatisfy({ $0.reference.rawValue < nextKeyReference }), areDataKeysSound,
      namedKeys.allSatisfy({
        $0.isShredded ? $0.current.rawValue == 0 : dataKey($0.current)?.number == $0.number
      })
    else { throw .damagedKeyring(.range) }
  }

  private static func ascends(_ values: [some Comparable]) -> Bool {
    zip(values, values.dropFirst()).allSatisfy { $0 < $1 }
  }
}

extension Keyring {
  /// What an addition has before its tables.
  private static let additionHeaderSize = 24
  /// How much longer additions may get than the keyring before them.
  private static let additionsMin = 64 << 10

  /// Whether another addition is worth it, or all is to be written anew.
  var isShort: Bool { bytes.count - baseByteCount <= max(baseByteCount, Self.additionsMin) }

  /// Adds named keys, in the place of those of the same number, and data keys; and what an addition of them is to the file.
  mutating func add(_ named: [NamedKey], _ data: [DataKey], root: borrowing Secret) throws(CryptoError) {
    var addition: [UInt8] = [0, 0, 0, 0]
    addition.append(littleEndian: UInt16(named.count))
    addition.append(zeros: 2)
    addition.append(littleEndian: generation + 1)
    addition.append(littleEndian: nextKeyReference)
    addition.append(littleEndian: UInt32(data.count))
    for key in named { key.append(to: &addition) }
    for key in data { key.append(to: &addition) }
    Self.store(addition.count + Self.macSize + Self.digestSize, in: &addition, at: 0)
    let message = mac + addition
    let key = try macKey(root)
    addition += try Crypto.hmacSHA256(key: key.bytes, message.rawSpan)
    addition += try Crypto.sha256(digest + addition)
    try add(addition, from: 0)
  }

  private static func store(_ size: Int, in bytes: inout [UInt8], at offset: Int) {
    var field: [UInt8] = []
    field.append(littleEndian: UInt32(size))
    bytes.replaceSubrange(offset..<offset + 4, with: field)
  }

  /// Takes in the addition that begins somewhere in the bytes; nothing is changed where it does not check.
  private mutating func add(_ all: [UInt8], from start: Int) throws(CryptoError) {
    let least = Self.additionHeaderSize + Self.macSize + Self.digestSize
    guard all.count - start >= least else { throw .damagedKeyring(.length) }
    let size = Int(all.rawSpan.load(UInt32.self, at: start))
    guard (least...all.count - start).contains(size) else { throw .damagedKeyring(.length) }
    let bytes = Array(all[start..<start + size])
    let end = size - Self.digestSize
    let digest = Array(bytes[end...])
    guard try Crypto.sha256(self.digest + bytes[..<end]) == digest else { throw .damagedKeyring(.digest) }
    var reader = KeyringCursor(bytes.rawSpan.extracting(first: end - Self.macSize), failure: Self.fault)
    _ = try reader.array(4)
    let namedCount = try reader.integer(as: UInt16.self)
    try reader.reserved(2)
    let generation = try reader.integer(as: UInt64.self)
    let nextKeyReference = try reader.integer(as: UInt32.self)
    let dataCount = try reader.integer(as: UInt32.self)
    var (named, data): ([NamedKey], [DataKey]) = ([], [])
    for _ in 0..<namedCount { named.append(try NamedKey(&reader)) }
    for _ in 0..<dataCount { data.append(try DataKey(&reader)) }
    guard reader.remaining == 0, generation == self.generation &+ 1,
      nextKeyReference >= self.nextKeyReference, dataKeys.count + data.count <= Self.dataKeysMax
    else { throw .damagedKeyring(.range) }
    insert(named, data)
    (self.generation, self.nextKeyReference) = (generation, nextKeyReference)
    mac = Array(bytes[(end - Self.macSize)..<end])
    self.digest = digest
    self.bytes += bytes
  }

  /// Puts named keys into the tables, in the place of those of the same number, and data keys.
  mutating func insert(_ named: [NamedKey], _ data: [DataKey]) {
    for key in named {
      let index = namedKeys.firstPlace(notBelow: UInt32(key.number)) { UInt32($0.number) }
      let isThere = index < namedKeys.count && namedKeys[index].number == key.number
      namedKeys.replaceSubrange(index..<(isThere ? index + 1 : index), with: [key])
    }
    dataKeys += data
    // Wraps of a grant go between those that are there.
    if let first = data.first, dataKeys.count > data.count,
      first.order < dataKeys[dataKeys.count - data.count - 1].order
    {
      dataKeys.sort { $0.order < $1.order }
    }
  }
}
