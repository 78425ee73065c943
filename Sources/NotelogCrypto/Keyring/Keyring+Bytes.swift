// Reading and writing a keyring (FORMAT.md 10.7).

import NotelogBase

extension Keyring {
  /// Reads a keyring. Whatever is damaged, unknown or beyond a limit is refused here, before any work.
  ///
  /// The digest in it finds damage without a key; that nobody forged it shows at unlock, by its MAC.
  ///
  /// - Parameters:
  ///   - bytes: The whole file.
  ///   - workFactorLimit: The most work that a password slot may ask for.
  /// - Throws: ``CryptoError/damagedKeyring(_:)``, ``CryptoError/unsupported(_:)``,
  ///   ``CryptoError/limitExceeded(_:)``.
  package init(parsing bytes: [UInt8], workFactorLimit: WorkFactor = .mostRead) throws(CryptoError) {
    guard bytes.count <= Self.byteCountMax else { throw .limitExceeded(.keyringSize) }
    guard bytes.count >= Header.byteCount + Self.digestSize + Self.macSize else {
      throw .damagedKeyring(.length)
    }
    var reader = KeyringCursor(bytes.rawSpan) { fault, _, _ in
      .damagedKeyring(fault == .reserved ? .reserved : .length)
    }
    guard try reader.array(Self.magic.count) == Self.magic else { throw .damagedKeyring(.magic) }
    let end = bytes.count - Self.macSize - Self.digestSize
    let digest = Array(bytes[(end + Self.macSize)...])
    guard try Derivation.sha256(Array(bytes.dropLast(Self.digestSize))) == digest else {
      throw .damagedKeyring(.digest)
    }
    let version = try reader.integer(as: UInt16.self)
    guard version == Self.version else { throw .unsupported(.keyringVersion(version)) }
    try reader.wrapSuite()
    try reader.reserved(1)
    guard try reader.integer(as: UInt32.self) == UInt32(bytes.count) else { throw .damagedKeyring(.length) }
    storeID = ID16(try reader.array(16))
    generation = try reader.integer()
    rootGeneration = try reader.integer()
    nextKeyReference = try reader.integer()
    let slotCount = Int(try reader.integer(as: UInt16.self))
    let classKeyCount = Int(try reader.integer(as: UInt16.self))
    let namedKeyCount = Int(try reader.integer(as: UInt16.self))
    try reader.reserved(2)
    let dataKeyCount = Int(try reader.integer(as: UInt32.self))
    nextSlotID = try reader.integer()
    guard slotCount <= Self.slotsMax else { throw .limitExceeded(.slots) }
    guard classKeyCount <= Self.classKeysMax else { throw .damagedKeyring(.range) }
    guard dataKeyCount <= Self.dataKeysMax else { throw .limitExceeded(.keyGenerations) }
    let expected =
      Header.byteCount + slotCount * Slot.byteCount + classKeyCount * ClassKey.byteCount
      + namedKeyCount * NamedKey.byteCount + dataKeyCount * DataKey.byteCount
    guard expected == end else { throw .damagedKeyring(.length) }
    slots = []
    for _ in 0..<slotCount { slots.append(try Slot(&reader, workFactorLimit: workFactorLimit)) }
    classKeys = []
    for _ in 0..<classKeyCount { classKeys.append(try ClassKey(&reader)) }
    namedKeys = []
    for _ in 0..<namedKeyCount { namedKeys.append(try NamedKey(&reader)) }
    dataKeys = []
    for _ in 0..<dataKeyCount { dataKeys.append(try DataKey(&reader)) }
    mac = Array(bytes[end..<end + Self.macSize])
    self.digest = digest
    try checkConsistency()
  }

  /// Where the generation stands in the file.
  package static let generationOffset = 32

  /// As it is written to disk.
  package var bytes: [UInt8] { body + mac + digest }

  /// Everything but MAC and digest: what the MAC covers.
  var body: [UInt8] {
    var bytes = Self.magic
    bytes.append(littleEndian: Self.version)
    bytes += [Suite.wraps.rawValue, 0]
    let count =
      Header.byteCount + slots.count * Slot.byteCount + classKeys.count * ClassKey.byteCount
      + namedKeys.count * NamedKey.byteCount + dataKeys.count * DataKey.byteCount + Self.digestSize
      + Self.macSize
    bytes.reserveCapacity(count)
    bytes.append(littleEndian: UInt32(count))
    bytes += storeID.array
    bytes.append(littleEndian: generation)
    bytes.append(littleEndian: rootGeneration)
    bytes.append(littleEndian: nextKeyReference)
    bytes.append(littleEndian: UInt16(slots.count))
    bytes.append(littleEndian: UInt16(classKeys.count))
    bytes.append(littleEndian: UInt16(namedKeys.count))
    bytes.append(zeros: 2)
    bytes.append(littleEndian: UInt32(dataKeys.count))
    bytes.append(littleEndian: nextSlotID)
    for slot in slots { slot.append(to: &bytes) }
    for key in classKeys { key.append(to: &bytes) }
    for key in namedKeys { key.append(to: &bytes) }
    for key in dataKeys { key.append(to: &bytes) }
    return bytes
  }

  /// That the tables are in order and refer to each other.
  private func checkConsistency() throws(CryptoError) {
    guard Self.ascends(slots.map(\.id)), Self.ascends(classKeys.map(\.accessClass.rawValue)),
      Self.ascends(namedKeys.map(\.number)), Self.ascends(dataKeys.map(\.reference.rawValue))
    else { throw .damagedKeyring(.order) }
    guard slots.count(where: { $0.kind == .password }) <= Self.passwordSlotsMax else {
      throw .limitExceeded(.slots)
    }
    guard !slots.isEmpty, slots.allSatisfy({ $0.id < nextSlotID && $0.rootGeneration == rootGeneration }),
      classKeys.allSatisfy({ $0.rootGeneration == rootGeneration }),
      dataKeys.allSatisfy({ $0.reference.rawValue < nextKeyReference })
    else { throw .damagedKeyring(.range) }
    let classes = Set(classKeys.map(\.accessClass))
    let named = Dictionary(uniqueKeysWithValues: namedKeys.map { ($0.number, $0.accessClass) })
    guard dataKeys.allSatisfy({ classes.contains($0.accessClass) && named[$0.number] == $0.accessClass }),
      namedKeys.allSatisfy({ dataKey($0.current)?.number == $0.number })
    else { throw .damagedKeyring(.range) }
  }

  private static func ascends(_ values: [some Comparable]) -> Bool {
    zip(values, values.dropFirst()).allSatisfy { $0 < $1 }
  }
}
