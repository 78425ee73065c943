// Reading a store that another process writes: FORMAT.md §25, "Readers".

import NotelogConcurrency

/// A journal that is open for reading, takes no lock, and follows what another process writes.
///
/// Between two refreshes it shows one state of the store: what is read in between belongs together.
package final class JournalReader: Sendable {
  private let storage: any Storage
  private let options: JournalOptions
  private let current: Lock<Journal>
  private let refreshing = Gate()

  /// Opens a store for reading.
  package init(
    in storage: any Storage, storeID: StoreID? = nil, options: JournalOptions = JournalOptions()
  ) throws(JournalError) {
    var options = options
    options.isReadOnly = true
    self.storage = storage
    self.options = options
    current = Lock(try Journal.open(in: storage, storeID: storeID, options: options))
  }

  /// The store as of the last refresh. It stays as it is, however long it is held.
  package var journal: Journal { current.withLock { $0 } }

  /// Takes in what has been committed since.
  ///
  /// - Returns: Whether there was anything new.
  @discardableResult
  package func refresh() throws(JournalError) -> Bool {
    refreshing.enter()
    defer { refreshing.leave() }
    let journal = self.journal
    guard try journal.hasGrown() else { return false }
    let newer = try Journal.open(in: storage, storeID: journal.storeID, options: options)
    current.withLock { $0 = newer }
    return true
  }
}

extension Journal {
  /// Whether there is anything in the store's folder that this journal has not read.
  fileprivate func hasGrown() throws(JournalError) -> Bool {
    let (end, live) = log.state.withLock { ($0.visibleEnd, $0.live) }
    guard let head = catalog.segments[end.segment] else { return true }
    do {
      var reader = SegmentReader(head.file, salt: head.salt, end: try head.file.byteCount())
      switch try reader.frame(at: end.offset) {
      case .frame, .invalid: return true
      case .end, .zero: break
      }
      // The segment may be finished, and the log may go on in another.
      let numbers = try storage.names(in: "").compactMap(FileName.segmentNumber)
      return numbers.contains { $0 > end.segment && live[$0] == nil }
    } catch {
      // The file was cut under us: it is being finished.
      return true
    }
  }
}
