// What errors say: to a user, to whoever looks into it, and about which folder.

import Foundation
import Testing

@testable import Notelog

private struct Registered: Record {
  var id = RecordID()
  var name = ""
  var born = Date(timeIntervalSinceReferenceDate: 0)
  var left: Date?
  static let schema = Schema<Registered>("errormember") {
    Plain("name", \.name, indexed: true)
    Plain("born", \.born)
    Sealed("left", \.left)
    Unique(\.name)
  }
}

private struct Guest: Record {
  var id = RecordID()
  var host = RecordID()
  static let schema = Schema<Guest>("errorguest") {
    Plain("host", \.host, indexed: true).referring(to: Registered.self, whenDeleted: .refuse)
  }
}

@Suite struct ErrorMessageTests {
  /// The error that a body throws.
  private func error(
    _ body: () throws -> Void, _ location: SourceLocation = #_sourceLocation
  ) throws -> NotelogError {
    try #require(throws: NotelogError.self, sourceLocation: location) { try body() }
  }

  @Test func `every code has a sentence for users, and some say what to do`() {
    var sentences: Set<String> = []
    for code in NotelogError.Code.allCases {
      let error = NotelogError(code, "the technical message")
      let sentence = error.localizedDescription
      #expect(sentence.hasSuffix(".") && sentence.first?.isUppercase == true, "\(code): \(sentence)")
      #expect(!sentence.contains("technical") && !sentence.contains("NotelogError"), "\(code): \(sentence)")
      #expect(error.failureReason == "the technical message")
      sentences.insert(sentence)
    }
    #expect(sentences.count == NotelogError.Code.allCases.count)
    #expect(NotelogError(.wrongPassword, "").localizedDescription == "The password is not right.")
    #expect(NotelogError(.busy, "").recoverySuggestion == "Close it there, or try again later.")
  }

  @Test func `a wrong password and a wrong key are said in plain words`() throws {
    let folder = try TemporaryFolder()
    var options = Store.Options()
    options.passwordWork = 14
    try Store.create(at: folder.path, unlocking: .password("right"), options: options).close()
    let wrong = try error { _ = try Store.open(at: folder.path, unlocking: .password("wrong")) }
    #expect(wrong.code == .wrongPassword)
    #expect(wrong.localizedDescription == "The password is not right.")
    #expect(wrong.message == "'\(folder.path)': unlocking the store: the password is not right")
    let key = try error { _ = try folder.open() }
    #expect(key.code == .wrongPassword && key.localizedDescription == "The key is not right.")
  }

  @Test func `a key of the wrong length is refused in plain words`() throws {
    let folder = try TemporaryFolder()
    let short = try error { _ = try Store.create(at: folder.path, unlocking: .key([1, 2, 3])) }
    #expect(short.code == .invalidArgument)
    #expect(short.message.hasSuffix("a key has exactly 32 bytes, this one has 3"), "\(short)")
    let long = try error {
      _ = try Store.create(at: folder.path, unlocking: .password(String(repeating: "x", count: 5000)))
    }
    #expect(long.message.hasSuffix("a password has at most 4096 bytes of UTF-8"), "\(long)")
    let store = try folder.create()
    let name = try error { try store.createKey(String(repeating: "x", count: 64), .whenUnlocked) }
    #expect(name.message.hasSuffix("the name of a key has 1 to 63 bytes of UTF-8"), "\(name)")
    let work = try error { try store.addCredential(.password("second"), work: 3) }
    #expect(work.message.hasSuffix("an exponent from 14 to 18"), "\(work)")
    let empty = try error { try store.createKey("", .whenUnlocked) }
    // What was chosen is to blame, and not that there is too much of it.
    for error in [long, name, work, empty] { #expect(error.code == .invalidArgument, "\(error)") }
  }

  @Test func `an empty password is refused wherever it would be one`() throws {
    let folder = try TemporaryFolder()
    let empty = Credential.password("")
    let created = try error { _ = try Store.create(at: folder.path, unlocking: empty) }
    #expect(created.code == .invalidArgument)
    #expect(created.localizedDescription == "A password must not be empty.")
    #expect(created.message.hasSuffix("a password must not be empty"), "\(created)")
    // Nothing is left in the way.
    let store = try folder.create()
    #expect(throws: NotelogError(.invalidArgument, "")) { try store.addCredential(empty) }
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.changeCredential(TemporaryFolder.key, to: empty)
    }
    #expect(store.info().slots.count == 1)
    try store.close()
    #expect(throws: NotelogError(.wrongPassword, "")) { try folder.open(empty) }
  }

  @Test func `what is not there is named by its path`() throws {
    let folder = try TemporaryFolder()
    let missing = try error { _ = try folder.open() }
    #expect(missing.code == .notFound && missing.path == folder.path)
    #expect(missing.message == "'\(folder.path)': there is no such folder")
    try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: false)
    let empty = try error { _ = try folder.open() }
    #expect(empty.code == .notFound)
    #expect(
      empty.message
        == "'\(folder.path)': there is no store here: no file in the folder is a segment of one")
    for body: () throws -> Void in [
      { _ = try Store.verify(at: folder.path) },
      { _ = try Shipper(of: folder.path, to: FolderArchive(path: folder.path + "-archive")).ship() },
      { _ = try Store.restore(from: folder.archive, to: folder.path + "-restored") },
      { _ = try Store.salvage(from: folder.path, to: folder.path + "-salvaged") },
      { try Store.forEachPiece(at: folder.path) { _ in } },
    ] {
      let error = try error(body)
      #expect(error.code == .notFound && error.message.contains("'\(folder.path)'"), "\(error)")
    }
    for name in ["-archive", "-restored", "-salvaged"] {
      try? FileManager.default.removeItem(atPath: folder.path + name)
    }
  }

  /// They were said as the system's failures, and `localizedDescription` accused the disk.
  @Test func `a path that no folder can be at is to blame, and not the disk`() throws {
    let (folder, place) = (try TemporaryFolder(), try TemporaryFolder())
    try folder.create().close()
    let backup = FolderArchive(path: place.path + "/backup")
    try FileManager.default.createDirectory(atPath: place.path, withIntermediateDirectories: false)
    let file = place.path + "/photo.jpg"
    try Data("photo".utf8).write(to: URL(filePath: file))
    _ = try Shipper(of: folder.path, to: backup).ship()
    func expect(_ words: String, at path: String, _ bodies: [() throws -> Void]) throws {
      for (number, body) in bodies.enumerated() {
        let error = try error(body)
        #expect(error.code == .invalidArgument && error.path == path, "\(number): \(error)")
        #expect(error.message == "'\(path)': \(words)", "\(number)")
        #expect(
          error.localizedDescription == words.prefix(1).uppercased() + words.dropFirst() + ".", "\(number)")
      }
    }
    for (path, words) in [
      (place.path + "/no/such", "the folder that it should lie in does not exist"),
      (file, "that is a file, not a folder"), (file + "/x", "the folder that it should lie in is a file"),
      ("", "the path is empty"),
    ] {
      try expect(
        words, at: path,
        [
          { _ = try Store.create(at: path, unlocking: TemporaryFolder.key) },
          { _ = try Shipper(of: folder.path, to: FolderArchive(path: path)).ship() },
          { _ = try Store.restore(from: backup, to: path) },
          { _ = try Store.salvage(from: folder.path, to: path) },
        ])
    }
    for (path, words) in [
      (file, "that is a file, not a folder"), (file + "/x", "the folder that it should lie in is a file"),
    ] {
      try expect(
        words, at: path,
        [
          { _ = try Store.open(at: path, unlocking: TemporaryFolder.key) },
          { _ = try Shipper(of: path, to: backup).ship() },
          { _ = try Store.restore(from: FolderArchive(path: path), to: place.path + "/new") },
          { _ = try Store.salvage(from: path, to: place.path + "/new") },
          { _ = try Store.verify(at: path) }, { try Store.forEachPiece(at: path) { _ in } },
        ])
    }
  }

  /// A misspelt name was a key that is missing, and to be restored from a backup.
  @Test func `a key that there is not is not found`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let error = try error { _ = try store.rotate("nokey") }
    #expect(error.code == .notFound && error.message.contains("nokey"), "\(error)")
    #expect(error.localizedDescription == "There is no key of this name." && error.recoverySuggestion == nil)
  }

  @Test func `what stands in the way of a write says what helps, and which record it is`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let (ada, bob) = (Registered(name: "Ada"), Registered(name: "Ada"))
    try store.putAll([ada])
    let taken = try error { try store.putAll([bob]) }
    #expect(taken.code == .notUnique && taken.record == ada.id)
    #expect(taken.localizedDescription == "There is another one with the same name.")
    #expect(taken.recoverySuggestion == "Change it, and try again.")
    let other = try error { _ = try store.write { tx in try tx.put(Note(id: ada.id)) } }
    #expect(other.code == .alreadyExists && other.record == ada.id && other.recoverySuggestion == nil)
    #expect(other.localizedDescription == "There is something else of the same identity.")
    let seen = try error {
      try store.write { tx in
        try tx.update(Registered.self, ada.id, if: .revision(99)) { $0.set(\.name, "A") }
      }
    }
    #expect(seen.code == .conflict && seen.record == ada.id)
    #expect(seen.recoverySuggestion == "Look at it as it is now, and try again.")
    let present = try error { _ = try store.write { tx in try tx.put(ada, if: .absent) } }
    #expect(present.code == .alreadyExists && present.record == ada.id)
    #expect(present.localizedDescription == "It is there already." && present.recoverySuggestion == nil)
    let guest = Guest(host: ada.id)
    try store.putAll([guest])
    let needed = try error { _ = try store.write { tx in try tx.delete(Registered.self, ada.id) } }
    #expect(needed.code == .brokenReference && needed.record == guest.id)
    #expect(
      needed.localizedDescription == "Something else still needs it." && needed.recoverySuggestion == nil)
    let lost = Guest(host: RecordID())
    let missing = try error { try store.putAll([lost]) }
    #expect(missing.code == .brokenReference && missing.record == lost.id)
    #expect(missing.localizedDescription == "What it belongs to is not there.")
    let inside = try error { _ = try store.write { _ in try store.putAll([bob]) } }
    #expect(inside.code == .busy && inside.localizedDescription == "It is being written to already.")
    #expect(inside.recoverySuggestion == nil)
    let note = Note(title: "one")
    try store.putAll([note])
    let entry = try #require(try store.get(Note.self, note.id))
    store.lock()
    #expect(try error { _ = try entry.title }.record == note.id)
  }

  @Test func `a date that is infinite or not a number is refused with its field`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let dates = [Double.infinity, -.infinity, .nan].map { Date(timeIntervalSinceReferenceDate: $0) }
    for date in dates {
      for body: () throws -> Void in [
        { _ = try store.write { tx in try tx.put(Registered(name: "A", born: date)) } },
        { try store.putAll([Registered(name: "A", left: date)]) },
      ] {
        let error = try error(body)
        #expect(error.code == .invalidArgument && error.message.contains("errormember."), "\(error)")
      }
    }
    try store.putAll([Registered(name: "A", born: .distantPast, left: .distantFuture)])
    let id = try #require(try store.query(Registered.self).first()).id
    let collection = try store.collection("errormember")
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.write { tx in
        try tx.update(
          in: collection, id, ["left": .date(Date(timeIntervalSinceReferenceDate: .nan))])
      }
    }
  }

  @Test func `a value over the limit is told the limit, and what to do`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let long = String(repeating: "x", count: Limits.recordBytes + 1)
    let error = try error { _ = try store.write { tx in try tx.put(Note(title: long)) } }
    #expect(error.code == .limitExceeded)
    #expect(
      error.message.contains("over the limit of 16777216") && error.message.contains("upload"), "\(error)")
  }

  @Test func `an entry prints itself without its bytes`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let note = Note(title: "secret")
    try store.putAll([note])
    let entry = try #require(try store.get(Note.self, note.id))
    #expect("\(entry)" == "\(Note.schema.name) \(note.id) at revision \(entry.revision)")
    #expect("\([entry])" == "[\(entry)]")
    let name = Note.schema.name
    let dynamic = try #require(try store.collection(name).get(note.id))
    #expect("\(dynamic)" == "\(entry)")
  }

  @Test func `of two folders the one is named that it is about`() throws {
    let (source, taken) = (try TemporaryFolder(), try TemporaryFolder())
    try source.create().close()
    try FileManager.default.createDirectory(atPath: taken.path, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: URL(filePath: taken.path + "/letter.txt"))
    for body: () throws -> Void in [
      { _ = try taken.create() },
      { _ = try Shipper(of: source.path, to: taken.archive).ship() },
      { _ = try Store.salvage(from: source.path, to: taken.path) },
    ] {
      let error = try error(body)
      #expect(error.code == .alreadyExists, "\(error)")
      #expect(error.message.contains("'\(taken.path)'") && !error.message.contains(source.path), "\(error)")
    }
  }

  @Test func `an open store names its folder in what it refuses`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.write { tx in try tx.put(Note(title: "one")) }
    let nested = try error { try store.write { _ in try store.suspend() } }
    #expect(
      nested.code == .busy && nested.message.hasPrefix("'\(folder.path)': a write closure"), "\(nested)")
    try store.suspend()
    let suspended = try error { _ = try store.write { tx in try tx.put(Note(title: "two")) } }
    #expect(suspended.code == .suspended && suspended.message.contains("'\(folder.path)'"), "\(suspended)")
    try store.resume()
    try store.close()
    let closed = try error { _ = try store.get(Note.self, RecordID()) }
    #expect(closed.message == "'\(folder.path)': the store is closed")
    var options = Store.Options()
    options.isReadOnly = true
    let reader = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let readOnly = try error { _ = try reader.write { tx in try tx.put(Note()) } }
    #expect(readOnly.message == "'\(folder.path)': the store was opened for reading only")
    try reader.close()
  }

  @Test func `an error of the system names the file by its path`() throws {
    let folder = try TemporaryFolder()
    try folder.create().close()
    try FileManager.default.removeItem(atPath: folder.path + "/keyring.copy")
    try FileManager.default.removeItem(atPath: folder.path + "/keyring")
    try FileManager.default.createSymbolicLink(
      atPath: folder.path + "/keyring", withDestinationPath: "elsewhere")
    let error = try error { _ = try folder.open() }
    #expect(error.message.contains("'\(folder.path)/keyring'"), "\(error)")
  }

  #if os(Linux)
    @Test func `busy names this process where it holds the lock itself`() throws {
      let folder = try TemporaryFolder()
      let store = try folder.create()
      let error = try error { _ = try folder.open() }
      #expect(error.code == .busy)
      #expect(error.message == "'\(folder.path)': the store is open for writing in this process")
      try store.close()
      try folder.open().close()
    }
  #endif

  @Test func `a schema that names a field twice says which`() async throws {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      _ = Schema<Note>("letters") {
        Plain("time", \.time)
        Sealed("title", \.title)
        Sealed("title", \.body)
      }
    }
    let said = String(decoding: try #require(result).standardErrorContent, as: UTF8.self)
    #expect(said.contains("schema letters: the field 'title' is declared twice"), "\(said)")
  }
}
