// Reading a store that another process writes: FORMAT.md §13, "Readers".

import NotelogConcurrency

/// A journal that is open for reading, takes no lock, and follows what another process writes.
///
/// Between two refreshes it shows one state of the store: what is read in between belongs together.
package final class JournalReader: Sendable {
  private let storage: any Storage
  private let options: JournalOptions
  private let storeID: StoreID
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
    let journal = try Self.open(storage, storeID, options)
    self.storeID = journal.storeID
    current = Lock(journal)
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
    let newer = try Self.open(storage, storeID, options)
    current.withLock { $0 = newer }
    return true
  }

  /// How often a finding that may be due to the writer's going on is looked at again.
  private static let maximumAttempts = 1000

  /// Opens the store as it is at some moment.
  ///
  /// While it looks, segments may go, and come, and be finished. What looks like damage, or a file that is missing, is
  /// only believed when it is found again and again.
  private static func open(
    _ storage: any Storage, _ storeID: StoreID?, _ options: JournalOptions
  ) throws(JournalError) -> Journal {
    var previous: (damages: [Damage], error: String)?
    var repetitions = 0
    for attempt in 1... {
      var opened: Journal?
      var failure: JournalError?
      do { opened = try Journal.open(in: storage, storeID: storeID, options: options) } catch {
        failure = error
      }
      if let opened, opened.report.damages.isEmpty { return opened }
      let finding = (opened?.report.damages ?? [], failure?.message ?? "")
      let isSame = previous.map { $0.damages == finding.0 && $0.error == finding.1 } ?? false
      repetitions = isSame ? repetitions + 1 : 0
      previous = finding
      guard repetitions == 3 || attempt == maximumAttempts else { continue }
      if let opened { return opened }
      if let failure { throw failure }
    }
    throw JournalError(.inputOutput, "the store could not be read")
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
