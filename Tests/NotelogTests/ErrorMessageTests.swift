// What errors say: to a user, to whoever looks into it, and about which folder.

import Foundation
import Testing

@testable import Notelog

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
    #expect(short.code == .limitExceeded)
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
    #expect(store.info.slots.count == 1)
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
      { _ = try Store.backup(of: folder.path, to: folder.path + "-backup") },
      { _ = try Store.restore(from: folder.path, to: folder.path + "-restored") },
      { _ = try Store.salvage(from: folder.path, to: folder.path + "-salvaged") },
      { try Store.forEachPiece(at: folder.path) { _ in } },
    ] {
      let error = try error(body)
      #expect(error.code == .notFound && error.message.contains("'\(folder.path)'"), "\(error)")
    }
    for name in ["-backup", "-restored", "-salvaged"] {
      try? FileManager.default.removeItem(atPath: folder.path + name)
    }
  }

  @Test func `of two folders the one is named that it is about`() throws {
    let (source, taken) = (try TemporaryFolder(), try TemporaryFolder())
    try source.create().close()
    try FileManager.default.createDirectory(atPath: taken.path, withIntermediateDirectories: false)
    try Data("mine".utf8).write(to: URL(filePath: taken.path + "/letter.txt"))
    for body: () throws -> Void in [
      { _ = try taken.create() },
      { _ = try Store.backup(of: source.path, to: taken.path) },
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
