// A value that was written ahead of the record that will refer to it.

public import Foundation
import NotelogBase
import NotelogCrypto

/// A value written to a store, but not yet part of a record: an update that sets a field to it makes it one.
///
/// It belongs to one field of one record, and opens nowhere else. Where no record refers to it when this
/// object goes, it is dead, and the next compaction frees its space.
public final class Upload<R: Record>: Sendable, Opaque {
  /// The record's id.
  public let id: RecordID
  /// The value's length.
  public let byteCount: Int
  let store: Store
  /// The field's number.
  let field: UInt16
  let content: SealedContent

  init(_ store: Store, _ id: RecordID, field: UInt16, _ content: SealedContent, byteCount: Int) {
    self.store = store
    self.id = id
    self.field = field
    self.content = content
    self.byteCount = byteCount
  }

  deinit {
    if let value = content.value { store.journal.catalog.chunks.endUpload(value) }
  }
}

// MARK: - Streaming large values into a store.

extension Store {
  /// Writes a value of any length for a sealed field of bytes, ahead of the update that sets the field to it.
  ///
  /// ```swift
  /// let scan = try store.upload(to: \Note.attachment, of: id) { buffer in try source.read(into: &buffer) }
  /// try store.write { tx in try tx.update(Note.self, id) { $0.set(\.attachment, scan) } }
  /// ```
  ///
  /// The value is sealed as it comes, 64 KiB at a time; no more than a few chunks are ever in memory. Don't
  /// call this inside a write closure: it commits by itself.
  ///
  /// - Parameters:
  ///   - path: The field: sealed, of bytes, neither padded nor compressed. Any other throws
  ///     `invalidArgument`, and says why.
  ///   - id: The record that the value is for. It need not exist yet, unless it names the field's key.
  ///   - read: Fills a buffer from its start, and returns how many bytes it wrote; 0 at the value's end.
  /// - Returns: The upload, to be set in an update.
  /// - Throws: `locked`, `invalidArgument`, `limitExceeded`, `full`, `poisoned`, `closed`, and what `read`
  ///   throws.
  public func upload<R: Record, Value>(
    to path: FieldKeyPath<R, Value>, of id: RecordID, reading read: (inout MutableRawSpan) throws -> Int
  ) throws -> Upload<R> {
    var uploader = try uploader(to: path, of: id)
    try uploader.append(reading: read)
    return try uploader.finish(for: R.self)
  }

  /// Writes the rest of a file as a value for a sealed field of bytes, ahead of the update that sets the
  /// field to it.
  ///
  /// - Parameters:
  ///   - path: The field: sealed, of bytes, neither padded nor compressed. Any other throws
  ///     `invalidArgument`, and says why.
  ///   - id: The record that the value is for. It need not exist yet, unless it names the field's key.
  ///   - file: What is read, from where it stands to its end.
  /// - Returns: The upload, to be set in an update.
  /// - Throws: `locked`, `invalidArgument`, `limitExceeded`, `full`, `poisoned`, `closed`, and what reading
  ///   the file throws.
  public func upload<R: Record, Value>(
    to path: FieldKeyPath<R, Value>, of id: RecordID, from file: FileHandle
  ) throws -> Upload<R> {
    try upload(to: path, of: id) { bytes in
      guard let data = try file.read(upToCount: bytes.byteCount) else { return 0 }
      let piece = [UInt8](data)
      bytes.copy(piece.rawSpan, at: 0)
      return piece.count
    }
  }

  func uploader<R: Record, Value>(
    to path: FieldKeyPath<R, Value>, of id: RecordID
  ) throws -> Uploader {
    let plan = try storedPlan(for: R.self)
    return try Uploader(self, plan.collection, plan.index(of: path), id)
  }
}

// MARK: - Writing a large value, chunk by chunk, ahead of its record (FORMAT.md 8).

/// Takes a value piece by piece, seals it chunk by chunk, and commits a few chunks at a time.
struct Uploader: ~Copyable {
  /// How many chunks are committed at a time: memory against commit marks.
  private static let chunksATransaction = 16

  private let store: Store
  private let sealer: ChunkSealer
  private var batch = Batch()
  /// The chunk that is being filled: it is sealed once it is known whether it is the last.
  private var chunk = [UInt8](repeating: 0, count: Limits.chunkBytes)
  private var filled = 0
  /// How many chunks were sealed; from the first on the value is kept from being compacted away.
  private var number = 0

  init(_ store: Store, _ plan: CollectionPlan, _ index: Int, _ id: RecordID) throws(NotelogError) {
    let place = plan.place(index, id)
    let field = plan.fields[index]
    if let reason = plan.digest(of: index) != nil ? Self.digestReason : Self.reasonAgainst(field) {
      throw NotelogError(.invalidArgument, "\(place): a value can't be streamed into \(reason)")
    }
    guard !id.isReserved else {
      throw NotelogError(.invalidArgument, "id \(id) is one of those that the store keeps for itself")
    }
    guard store.schemasAreVerified.isSet else {
      throw NotelogError(.locked, "\(place): nothing is sealed before the store was unlocked")
    }
    let reference = try Self.keyReference(store, plan, index, id)
    let key = try store.vault.sealingKey(reference, for: place)
    self.store = store
    let entry = FieldEntry(
      number: field.number, type: field.type, flags: [.sealed, .chunked], keyReference: reference,
      range: 0..<0)
    sealer = ChunkSealer(key, entry, as: .randomValue, of: id, index, plan)
  }

  /// The key that a value is sealed under: the field's, or that which the record names.
  private static func keyReference(
    _ store: Store, _ plan: CollectionPlan, _ index: Int, _ id: RecordID
  ) throws(NotelogError) -> UInt32 {
    let field = plan.fields[index]
    guard field.isKeyChosen else { return plan.keyReferences[index] }
    var buffer = ReadBuffer()
    guard let stored = try store.read(id, in: plan.number, &buffer),
      let choice = try plan.choice(for: index, in: stored.body.rawSpan)
    else {
      throw NotelogError(
        .notFound,
        "\(plan.place(index, id)): \(plan.keyFieldName(of: index)) names the key, and has to be there before the value is uploaded"
      )
    }
    try store.opener.prove(field.keyField, of: stored, plan)
    return choice.keys.last ?? 0
  }

  private static let digestReason = "a field that reveals equality: set it to the whole value"

  /// Why values can't be streamed into a field, and what to do instead; nil where they can.
  private static func reasonAgainst(_ field: StoredField) -> String? {
    guard field.isSealed else { return "a plain field: set it to the whole value" }
    guard field.type == .bytes else {
      return "a field of type \(field.type.name): set it to the whole value, or declare a field of bytes"
    }
    // What comes before the first byte, or how much comes after the last, is known only at the end.
    let trait =
      field.flags.contains(.compressed) ? "compressed" : field.flags.contains(.padded) ? "padded" : nil
    return trait.map { "a \($0) field: set it to the whole value, or declare a field that isn't \($0)" }
  }

  deinit {
    if number > 0 { store.journal.catalog.chunks.endUpload(sealer.value) }
  }

  private var byteCount: Int { number * Limits.chunkBytes + filled }

  /// Takes the next bytes.
  mutating func append(_ bytes: RawSpan) throws(NotelogError) {
    var offset = 0
    while offset < bytes.byteCount {
      if filled == Limits.chunkBytes { try seal(isLast: false) }
      let count = min(bytes.byteCount - offset, Limits.chunkBytes - filled)
      chunk.withBytes(in: filled..<filled + count) { $0.copy(bytes.extracting(offset..<offset + count)) }
      filled += count
      offset += count
    }
    guard byteCount <= Limits.largeValueBytes else {
      throw NotelogError(.limitExceeded, "\(sealer.place): a value has at most 2^40 bytes")
    }
  }

  /// Takes all that `read` gives, until it gives nothing.
  mutating func append(reading read: (inout MutableRawSpan) throws -> Int) throws {
    var piece = [UInt8](repeating: 0, count: Limits.chunkBytes)
    defer { piece.wipe() }
    while true {
      let count = try piece.withBytes(in: 0..<piece.count) { bytes in try read(&bytes) }
      if Cancellation.flag?.isSet == true { throw CancellationError() }
      guard count > 0 else { return }
      precondition(count <= piece.count, "no more bytes are read than there is room for")
      try append(piece.rawSpan.extracting(first: count))
    }
  }

  /// Ends the value, and has the upload keep it alive.
  consuming func finish<R: Record>(for _: R.Type) throws(NotelogError) -> Upload<R> {
    let (store, id, field, byteCount) = (store, sealer.id, sealer.entry.number, byteCount)
    return Upload(store, id, field: field, try finish(), byteCount: byteCount)
  }

  /// Ends the value, which from here on is the caller's to keep alive. What is short enough is sealed to
  /// stand in the record itself.
  consuming func finish() throws(NotelogError) -> SealedContent {
    let content: SealedContent
    let byteCount = byteCount
    var nonces = NonceRun()
    if number > 0 {
      try seal(isLast: true)
      try commit()
      content = try sealer.content(byteCount: byteCount, &nonces)
    } else {
      content = try sealer.contentInRecord(chunk.rawSpan.extracting(first: filled), &nonces)
    }
    chunk.wipe()
    number = 0
    return content
  }

  private mutating func seal(isLast: Bool) throws(NotelogError) {
    let (sealer, chunk, number) = (sealer, chunk, number)
    if number == 0 { store.journal.catalog.chunks.beginUpload(sealer.value) }
    self.number += 1
    var nonces = NonceRun()
    try sealer.put(chunk.rawSpan.extracting(first: filled), number, isLast: isLast, &nonces, into: &batch)
    filled = 0
    if batch.count == Self.chunksATransaction { try commit() }
  }

  /// Commits what has gathered. The commit that refers to it makes it durable.
  private mutating func commit() throws(NotelogError) { _ = try store.journal.commit(&batch, .buffered) }
}
