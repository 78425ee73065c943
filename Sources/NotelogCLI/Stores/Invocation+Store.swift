// Opening the store that a command line names.

import Foundation
import Notelog

extension Invocation {
  /// What `--segment-size` asks for: `65536`, `64K`, `4M` or `1G`.
  func segmentByteCount() throws -> Int? {
    try byteCount(of: .segmentSize, in: Store.Options.segmentByteCounts)
  }

  /// Whether a command shows or writes sealed content.
  enum KeyUse {
    /// It does: where no key was given, what an agent or the kernel keeps is used, and else a password is
    /// asked for.
    case required
    /// It changes what opens the store: a key that was not given is asked for, whatever is kept.
    case credential
    /// It can do without: a key is used if it was given, and otherwise only asked for, or taken from where it
    /// is kept, with `--unlock`.
    case ifGiven
    /// The command sees to it itself.
    case never
  }

  /// Opens the store, unlocks it, runs `body`, and closes it in order. What is damaged in it is said at the
  /// command's end. A command that only reads shows what is left of a store that lost something nobody can
  /// name. One that `leases` takes long before it writes, and lets others write meanwhile.
  func withStore<Result>(
    _ keyUse: KeyUse, readOnly: Bool = false, leases: Bool = false, _ body: (Store) throws -> Result
  ) throws -> Result {
    var credential = try givenCredential(keyUse)
    return try withStore(keyUse, readOnly: readOnly, leases: leases, by: &credential, body)
  }

  /// The same for what has to ask for more than the password: `question` is asked beside a store that is open
  /// for reading, so that others can write meanwhile. What opens the store must be the same afterwards.
  func withStore<Answer, Result>(
    _ keyUse: KeyUse, asking question: (Store) throws -> Answer,
    _ body: (Store, Credential?, Answer) throws -> Result
  ) throws -> Result {
    var credential = try givenCredential(keyUse)
    let (answer, slots) = try withStore(keyUse, readOnly: true, isAsking: true, by: &credential) { store in
      (try question(store), store.info().slots.map(\.words))
    }
    let given = credential
    return try withStore(keyUse, readOnly: false, by: &credential) { store in
      guard has(.yes) || store.info().slots.map(\.words) == slots else {
        throw ToolError(.failed, "the ways to open the store changed meanwhile: nothing is done")
      }
      return try body(store, given, answer)
    }
  }

  /// What the command line gives: read before the store is opened, as a program that gives it may take long.
  private func givenCredential(_ keyUse: KeyUse) throws -> Credential? {
    try checkPath()
    return keyUse == .never ? nil : try SecretSource.given(self)
  }

  private func withStore<Value>(
    _ keyUse: KeyUse, readOnly: Bool, leases: Bool = false, isAsking: Bool = false,
    by credential: inout Credential?,
    _ body: (Store) throws -> Value
  ) throws -> Value {
    var options = Store.Options()
    options.isReadOnly = readOnly
    if leases { options.writing = .leased(idle: .zero) }
    options.acceptsUnprovenDamage = readOnly && !isAsking
    options.examinesAllSegments = true
    options.segmentByteCount = try segmentByteCount()
    // What was before these stays, for 'undo', until the next command that writes: that one compacts first.
    let isUndoable = ["set", "edit", "remove", "undo"].contains(command.words[0])
    options.compaction = isUndoable ? .whenAsked : .automatic
    if let path = value(of: .deviceSecret) { options.deviceSecret = .file(path) }
    options.lockTimeout = .seconds(try number(of: .wait, in: 0...86_400) ?? 5)
    // What stands in the way of opening is said before a password is asked for.
    var (heads, elsewhere): (KnownHeads?, String?)
    func open() throws -> Store {
      let opened = try Store.open(at: store, options: options)
      heads = KnownHeads(of: opened.id, at: store)
      if let head = heads?.head { opened.expect(head) }
      return opened
    }
    var opened = try saying([.notFound: noStore], open)
    let result = Result {
      let isNeeded = keyUse == .required || keyUse == .credential || keyUse == .ifGiven && has(.unlock)
      if isNeeded, credential == nil, try keyUse == .credential || !unlockWithKeptRoot(opened) {
        // Whoever types takes long: the lock is given back.
        if !readOnly { try opened.close() }
        credential = try SecretSource.ask()
        if !readOnly { opened = try open() }
      }
      if let credential { try opened.unlock(credential) }
      if !isAsking { credential = nil }
      if !opened.hasKeyring { damage.note(keyring: opened.info().keyring) }
      if isUndoable, command.words != Command.undo.words { _ = try? opened.compactIfDue() }
      let value = try body(opened)
      if opened.isUnlocked, opened.keepsEvidence { elsewhere = heads?.elsewhere }
      if !readOnly { heads?.remember(opened) }
      return value
    }
    damage.note(opened.damage)
    damage.note(alarm: opened.alarm, elsewhere: elsewhere)
    do { try opened.close() } catch {
      // What was acknowledged is on the disk. After another error, that one is to be reported.
      if case .success = result {
        Console.say(
          "warning",
          "what was asked for is done, and the next opening recovers: \(ToolError(any: error).message)")
      }
    }
    return try result.get()
  }

  /// - Returns: Whether a root was kept, and opened the store. One that doesn't is said and passed over.
  func unlockWithKeptRoot(_ store: Store) throws -> Bool {
    guard let root = RootKeeper.find(store.id) else { return false }
    do { try store.unlock(.root(root)) } catch {
      guard ToolError(any: error).code == .locked else { throw error }
      Console.say("warning", "what is kept of this store does not open it any more")
      return false
    }
    return true
  }

  /// Shows who opens the store, or a part of it, and asks whether to go on: nobody else can say that a slot
  /// is one that should have gone.
  func confirm(_ question: String, of store: Store) throws {
    for slot in store.info().slots { Console.say("slot", slot.words) }
    if !has(.yes) { try Console.confirm(question) }
  }

  /// The work that `--scrypt-log-n` asks for, with a warning where it is little.
  func passwordWork() throws -> UInt8 {
    let work = try number(of: .scryptLogN, in: UInt8(14)...18) ?? 17
    if work < 16 {
      Console.say("warning", "a password is cheap to guess with --scrypt-log-n below 16")
    }
    return work
  }

  /// Unlocks a store that is still locked, where one of the fields is sealed under a key that is not open: what
  /// is plain needs no key, and this device's secret opens some.
  func unlock(_ store: Store, toRead names: [String], of collection: DynamicCollection) throws {
    let names = Set(names)
    let open = Set(store.info().keys.filter { $0.state == .open }.map(\.number))
    let isSealed = collection.fields.contains { field in
      field.isSealed && names.contains(field.name) && field.keyNumber.map(open.contains) != true
    }
    // Where a credential was given, it has opened what it opens.
    guard isSealed, !store.isUnlocked, try SecretSource.option(of: self) == nil,
      try !unlockWithKeptRoot(store)
    else { return }
    try store.unlock(SecretSource.ask())
  }

  /// The record that an id on the command line means: a whole one, or a beginning that only one record's has.
  func recordID(_ argument: String, in store: Store) throws -> RecordID {
    if let id = RecordID(argument) { return id }
    let digits = argument.lowercased().filter { $0 != "-" }
    guard (4..<32).contains(digits.count), digits.allSatisfy("0123456789abcdef".contains) else {
      throw ToolError.usage(
        "'\(argument)' is not an id", hint: "an id has 32 digits, of which the first do, from four on")
    }
    let candidateCount = 10
    let found = try store.ids(beginningWith: digits, limit: candidateCount + 1)
    if let only = found.first, found.count == 1 { return only }
    if found.isEmpty { throw ToolError(.no, "there is no record whose id begins with \(digits)") }
    // Whoever has to choose sees what can be shown without being asked for a password.
    if !store.isUnlocked, try SecretSource.option(of: self) == nil { _ = try unlockWithKeptRoot(store) }
    let short = try store.shortIDs()
    for id in found.prefix(candidateCount) {
      Console.say("candidate", "\(short(id))  \((try? store.entry(id).title) ?? "")")
    }
    throw ToolError(
      .usage,
      "\(found.count > candidateCount ? "more than \(candidateCount)" : "\(found.count)") ids begin with \(digits)",
      hint: "give more digits")
  }

  /// Writes ids as they are shown: whole to scripts, with --full-ids, and where what is short can't be told.
  func shownIDs(in store: Store) -> @Sendable (RecordID) -> String {
    (Console.outIsTerminal && !has(.fullIDs) ? try? store.shortIDs() : nil) ?? \.shown
  }

  /// Says in plain words why a path is not a store's, before anything is opened.
  func checkPath() throws {
    let (isFolder, number) = lookForFolder(at: store)
    if number == ENOENT || number == ENOTDIR { throw noStore }
    guard number == 0 else {
      throw ToolError(.failed, "cannot look at '\(store)': \(systemError(number))")
    }
    guard isFolder else {
      throw ToolError(.noStore, "'\(store)' is not a folder, and so no store")
    }
  }

  /// That nothing is there, or that nothing of a store's log is, in a folder where there was one: who makes a
  /// new one there loses its keyring.
  var noStore: ToolError {
    func isThere(_ name: String) -> Bool { FileManager.default.fileExists(atPath: store + "/" + name) }
    if FolderArchive.isArchive(at: store) {
      return ToolError(
        .noStore, "'\(store)' is an archive, and no store",
        hint: "'notelog restore \(store) NEW' makes one of it")
    }
    // A store that was being made when its maker ended is made again.
    if isThere("keyring") || isThere("keyring.copy"), isThere("created") || !isThere("creating") {
      return ToolError(
        .noStore, "there is a store's keyring at '\(store)', and none of its log",
        hint: "keep what is there, and 'notelog restore' a backup")
    }
    return ToolError(.noStore, "there is no store at '\(store)'", hint: noStoreHint)
  }

  /// What can be done where there is no store: not what would be refused, and nothing new for who looks after
  /// an old one.
  private var noStoreHint: String? {
    let (files, place) = (FileManager.default, URL(filePath: store).standardizedFileURL)
    let folder = place.deletingLastPathComponent().path
    guard files.fileExists(atPath: folder) else { return "there is no folder '\(folder)' either" }
    let held = (try? files.contentsOfDirectory(atPath: place.path)) ?? []
    guard held.isEmpty || held.contains("creating") else { return "the folder holds other things" }
    return ["verify", "salvage", "backup", "restore"].contains(command.words[0])
      ? nil : "'notelog init \(store)' makes one"
  }
}

extension StoreInfo.Slot {
  /// Its number, and what opens how much with it.
  var words: String {
    let opened = grant.map { ", opens " + $0.joined(separator: ", ") } ?? ""
    return "\(number), \(kind)\(work.map { ", scrypt 2^\($0)" } ?? "")\(opened)"
  }
}

extension Store {
  /// Writes ids as short as git does: eight digits, or as many as no other record's id begins with.
  func shortIDs() throws -> @Sendable (RecordID) -> String {
    let digitCount = try distinctDigitCounts()
    return { id in
      let count = max(8, digitCount(id))
      // Hyphens as in the whole id: what is shown is its beginning.
      return String(id.shown.prefix(count + [8, 12, 16, 20].count { $0 < count }))
    }
  }

  /// Says which records can't be shown because the schema of their collection is lost.
  ///
  /// - Returns: Whether there is none.
  func hasAllSchemas() throws -> Bool {
    let lost = try collectionsWithoutSchema()
    for (collection, count) in lost.sorted(by: { $0.key < $1.key }) {
      Console.say(
        "error", "\(counted(count, "record")) of collection \(collection) cannot be shown: the schema is lost"
      )
    }
    return lost.isEmpty
  }

  /// The collection named on the command line, or the only one.
  func collection(given name: String?) throws -> DynamicCollection {
    let all = collections
    guard !all.isEmpty else {
      throw ToolError(
        .no, "the store has no collections",
        hint: "an app makes its own in it, and 'notelog import --from' one of a table")
    }
    if let name {
      if let found = all.first(where: { $0.name == name }) { return found }
      throw ToolError(
        .no, "the store has no collection '\(name)'", hint: all.map(\.name).hint(for: name))
    }
    guard let only = all.first, all.count == 1 else {
      let names = all.map(\.name).joined(separator: ", ")
      throw ToolError.usage("which collection is meant?", hint: "the store has: \(names)")
    }
    return only
  }

  /// The record with an id, in whichever collection it is.
  func entry(_ id: RecordID) throws -> DynamicEntry {
    for collection in collections {
      if let entry = try collection.get(id) { return entry }
    }
    if let lost = try collectionsWithoutSchema().keys.min() {
      throw ToolError(
        .damage,
        "no record \(id.shown) can be shown; it may be one of collection \(lost), whose schema is lost")
    }
    throw ToolError(.no, "there is no record \(id.shown)")
  }
}
