// An open store: the journal, the keyring, and the schemas between them.

import NotelogBase
import NotelogCrypto
import NotelogStorage
import Synchronization

/// A store of records, some of whose fields are sealed.
///
/// A store belongs to one folder and, for writing, to one process at a time. It may be used from any thread:
/// reads run side by side, write closures one at a time.
///
/// ```swift
/// let store = try Store.open(at: path, unlocking: .password(prompted))
/// try store.write { tx in try tx.put(Note(title: "Clark")) }
/// let newest = try store.query(Note.self).sorted(by: \.time, .descending).limit(50).entries()
/// store.lock()
/// ```
public final class Store: Sendable, Opaque, CustomStringConvertible {
  let journal: Journal
  let storage: any Storage
  let vault: Vault
  let opener: FieldOpener
  let indexes = FieldIndexes()
  let hub = ChangeHub()
  let registry = Lock(SchemaRegistry())
  /// What reads the records of each type, found without waiting; forgotten when a stored schema changes.
  let readers = ReadMostly<[ObjectIdentifier: any AnyObject & Sendable]>([:])
  /// Counts the changes of stored schemas: what was resolved at another epoch is to be resolved again.
  let schemaEpoch = Atomic<UInt64>(0)
  /// Held while the keyring is changed, so that changes follow one another.
  let keyringChange = Lock(())
  /// What the keyring's two files are like: as they were found, or as the last change left them.
  let keyringFinding: Lock<TwinFinding>
  /// Whether somebody with the unlock root has checked the stored schemas since the store was opened, and no
  /// other has come since.
  let schemasAreVerified = Flag(false)
  /// How far rotations of keys are, by the generations in force; held while one of them goes on.
  let rotations = Lock<[KeyReference: RotationProgress]>([:])
  /// What the two places of the schemas were like when the store was opened.
  let schemaFinding: SchemaFinding
  /// What keeps the store's evidence, where it keeps any.
  let evidence = Lock<EvidenceKeeper?>(nil)
  /// What tells the observer of events, where there is one.
  let events: EventTeller?
  /// The thread that gives the lock back and takes in what others commit, where one is wanted.
  let sharingThread = Lock<SharingThread?>(nil)

  init(
    journal: Journal, storage: any Storage, vault: Vault, finding: TwinFinding,
    schemas: SchemaCopies, head: StoreHead? = nil, events: EventTeller? = nil
  ) {
    self.events = events
    self.journal = journal
    self.storage = storage
    self.vault = vault
    keyringFinding = Lock(finding)
    opener = FieldOpener(vault: vault, metrics: FieldMetrics(), journal: journal)
    schemaFinding = schemas.finding
    register(schemas)
    journal.orderKeeper.withLock { $0 = indexes }
    beginEvidence(head)
  }

  /// Counts the sealed fields that were opened.
  public var metrics: FieldMetrics { opener.metrics }

  /// The store's id: random, the same in every copy of it.
  var storeID: ID16 { vault.keyring.storeID }

  /// Where the store is, and whether it is locked.
  public var description: String { "store \(storage.path), \(isUnlocked ? "unlocked" : "locked")" }

  /// Counts as of now, also of a store that was closed. No key is needed, and no file is read.
  ///
  /// - Complexity: O(1).
  public var counters: StoreCounters {
    var counters = journal.counts
    counters.droppedEvents = events?.untoldCount ?? 0
    return counters
  }

  /// What is known to be damaged: what opening found, and what was met since. Opening a store looks at few of
  /// its bytes, and reading at those it reads; `verify(at:unlocking:head:threadCount:progress:)` looks at all.
  ///
  /// - Complexity: O(1) for a sound store, O(*n*) in the records of a damaged one.
  public var damage: DamageReport {
    let (verdict, damages) = (journal.verdict, journal.damages)
    // Where the index can't be read, what is known without it counts.
    let lostCount = (try? journal.lostRecordCount(in: damages)) ?? 0
    return DamageReport(
      verdict: verdict.isDamaged ? verdict : .sound, findings: damages, lostRecordCount: lostCount,
      possiblyStaleBelow: journal.catalog.staleness.below)
  }
}

// MARK: - How far a rotation is (FORMAT.md 21.4).

/// How far the rotation of a key is. It is kept in memory: what is not known any more is looked for again.
struct RotationProgress {
  /// Finished segments in which no current record but those of `pending` has a value under an old generation:
  /// none will ever be in them.
  var resealed: Set<UInt32> = []
  /// Records with such values that were found and not seen to yet.
  var pending: [(id: ID16, collection: UInt16)] = []
  var failed: Set<ID16> = []
}
