// What is wrong with a file of a backup: FORMAT.md §26.

import NotelogBase
import NotelogFormat
import NotelogStorage

extension BackupManifest.Part {
  /// How many of its bytes are the segment's own: the log's end is closed by a mark of the backup's.
  var ownByteCount: Int {
    kind == .segment ? entry.byteCount : entry.byteCount - BackupManifest.End.closingByteCount
  }

  /// What does not check in the part's file, which is read from its first byte to its last.
  func damages(in storage: any Storage) throws(StorageError) -> [Finding] {
    guard let file = try openIfThere(in: storage) else {
      return [Finding(.missingSegment, segment: entry.number)]
    }
    defer { file.close() }
    return try damages(in: ForgivingFile(file))
  }

  func damages(in file: any StorageFile) throws(StorageError) -> [Finding] {
    guard let found = try readHeader(file) else {
      return [Finding(.unreadableSegment, segment: entry.number)]
    }
    var damages = try found.damages(as: kind == .segment ? entry : nil).damages
    damages = found.unreadableDamages + damages
    return try hasItsBytes(file) || kind == .segment
      ? damages : damages + [Finding(.backupFile, segment: entry.number)]
  }

  /// Whether the file has the length and checksum that the part has; of a finished segment, the length alone.
  func hasItsBytes(_ file: any StorageFile) throws(StorageError) -> Bool {
    guard try file.byteCount() == entry.byteCount else { return false }
    if kind == .segment { return true }
    return try Checksum.of(file, entry.byteCount).value == entry.footerChecksum
  }

  /// Whether length, header, footer and trailer are a finished segment's, and can be read; what is between them is not.
  func isWholeAtItsEnds(in storage: any Storage) -> Bool {
    guard let file = try? storage.open(name, .read) else { return false }
    defer { file.close() }
    guard let found = try? readHeader(file), found.entry == entry, found.badCopies.isEmpty else {
      return false
    }
    return (try? found.hasSoundFooter()) ?? false
  }

  /// The part that a copy of this one is: of its kind if all of it checks, else a damaged one.
  func asFound(in file: any StorageFile) throws(StorageError) -> Self {
    let byteCount = try file.byteCount()
    let found = LiveEntry(
      number: entry.number, byteCount: byteCount, salt: entry.salt,
      footerChecksum: try Checksum.of(file, byteCount).value)
    var part = self
    if kind == .end { part.entry = found }
    if try part.damages(in: file).isEmpty { return part }
    part.kind = .damaged
    part.entry = found
    return part
  }

  func openIfThere(in storage: any Storage) throws(StorageError) -> (any StorageFile)? {
    do { return try storage.openFile(name, .read) } catch {
      if error.isMissing { return nil }
      throw error
    }
  }

  private func readHeader(_ file: any StorageFile) throws(StorageError) -> FoundSegment? {
    do { return try Survey.read(file, entry.number) } catch {
      throw error.cause ?? StorageError(.read, name, errno: SystemErrno.inputOutput)
    }
  }
}
