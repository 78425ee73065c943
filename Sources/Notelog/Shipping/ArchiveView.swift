// A moment of an archive as the store that it would be restored to: FORMAT.md §26.

import NotelogBase
import NotelogCrypto
import NotelogFormat
import NotelogStorage

/// Shows what of an archive's objects a moment needs, under the names that they have in a store. It can only be read.
final class ArchiveView: Storage {
  /// What a file consists of.
  enum Part {
    case object(ArchivedObject, Range<Int>)
    case bytes([UInt8])

    static func whole(_ object: ArchivedObject) -> Part { .object(object, 0..<object.byteCount) }

    var object: ArchivedObject? {
      guard case .object(let object, _) = self else { return nil }
      return object
    }
  }

  /// Which moment it is.
  struct Moment {
    /// The branch, and the last transaction that is in it.
    let branch: UInt32
    let revision: UInt64
    /// When that was committed, or shipped where the store keeps no times, in milliseconds since 1970; 0 where
    /// it is not known.
    let time: UInt64
    /// The log segment that it ends in.
    let lastSegment: UInt64
  }

  let archive: any Archive
  let moment: Moment
  /// What is missing of it, or does not check, as far as objects were read.
  let findings: [Finding]
  /// What the files consist of, by the segments' numbers.
  let segments: [UInt32: [Part]]
  /// What stands for both files of the keyring.
  let keyring: [UInt8]?

  init(
    _ archive: any Archive, _ moment: Moment, findings: [Finding], segments: [UInt32: [Part]],
    keyring: [UInt8]? = nil
  ) {
    (self.archive, self.moment, self.findings) = (archive, moment, findings)
    (self.segments, self.keyring) = (segments, keyring)
  }

  /// The same with a keyring.
  func with(_ keyring: [UInt8]?) -> ArchiveView {
    ArchiveView(archive, moment, findings: findings, segments: segments, keyring: keyring)
  }

  var path: String { (archive as? FolderArchive)?.storage.path ?? "" }

  /// The objects that it needs, but for the keyring.
  var objects: Set<ArchivedObject> { Set(segments.values.joined().compactMap(\.object)) }

  func open(_ name: String, _ mode: StorageOpenMode) throws(StorageError) -> any StorageFile {
    guard mode == .read else { throw StorageError(.open, name, errno: SystemErrno.readOnly) }
    if let parts = FileName.segmentNumber(name).flatMap({ segments[$0] }) {
      return try archive.file(parts, name: name)
    }
    guard name == FileName.keyring || name == FileName.keyringCopy, let keyring else {
      throw StorageError(.open, name, errno: SystemErrno.notFound)
    }
    return MemoryFile(keyring)
  }

  func forEachName(in folder: String, _ visit: (Span<UInt8>) -> Void) throws(StorageError) {
    guard folder.isEmpty else { throw StorageError(.readdir, folder, errno: SystemErrno.notFound) }
    for number in segments.keys { visit(FileName.segment(number).utf8.span) }
    guard keyring != nil else { return }
    for name in [FileName.keyring, FileName.keyringCopy] { visit(name.utf8.span) }
  }

  func rename(_ name: String, to newName: String) throws(StorageError) { throw readOnly(.rename, name) }
  func unlink(_ name: String) throws(StorageError) { throw readOnly(.unlink, name) }
  func makeFolder(_ name: String) throws(StorageError) { throw readOnly(.mkdir, name) }
  func syncFolder(_ name: String) throws(StorageError) { throw readOnly(.syncFolder, name) }

  private func readOnly(_ call: StorageError.Call, _ name: String) -> StorageError {
    StorageError(call, name, errno: SystemErrno.readOnly)
  }
}

extension Archive {
  /// Parts of objects, one behind the other, as a file.
  func file(_ parts: [ArchiveView.Part], name: String) throws(StorageError) -> SplicedFile {
    var files: [(file: any StorageFile, range: Range<Int>)] = []
    for part in parts {
      switch part {
      case .object(let object, let range): files.append((try open(object), range))
      case .bytes(let bytes): files.append((MemoryFile(bytes), 0..<bytes.count))
      }
    }
    return SplicedFile(files, name: name)
  }
}

extension ArchivedObject {
  /// Whether the bytes of an object are what its name says.
  func isSound(in archive: any Archive) -> Bool {
    guard let file = try? archive.open(self) else { return false }
    defer { file.close() }
    switch kind {
    case .piece, .damaged: return (try? Checksum.of(file, 0..<byteCount).value) == checksum
    case .compacted, .log:
      guard let found = try? Survey.read(file, UInt32(number)) else { return false }
      return (try? found.verified(as: entry).report.damages.isEmpty) ?? false
    case .keyring: return keyring(in: archive) != nil
    }
  }

  /// The keyring that it is; nothing where its bytes are not what its name says.
  func keyring(in archive: any Archive) -> Keyring? {
    guard let keyring = try? Keyring(parsing: archive.open(self).readWhole(upTo: Keyring.byteCountMax)),
      let fingerprint = try? keyring.fingerprint(),
      ArchivedObject(keyring: keyring.generation, fingerprint: fingerprint).name == name
    else { return nil }
    return keyring
  }
}
