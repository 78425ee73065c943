// What a migration says where it comes to a record that it can't migrate.

import Foundation
import NotelogBase
import Testing

@testable import Notelog

private struct Before: Record {
  var id = RecordID()
  var age = ""
  var secret = ""
  static let schema = Schema<Before>("guest") {
    Plain("age", \.age)
    Sealed("secret", \.secret)
  }
}

/// What a closure that is to find a key locked does first.
private let lockKeys = Lock<(@Sendable () -> Void)?>(nil)

private struct After: Record {
  var id = RecordID()
  var years = 0
  var secret = ""
  static let schema = Schema<After>("guest") {
    Plain("years", \.years)
    Sealed("secret", \.secret)
    Migrated("age") { old, guest in
      guard case .text(let age) = try old.value("age") else { return }
      switch age {
      case "cocoa": throw CocoaError(.coderInvalidValue)
      case "cancelled": throw CancellationError()
      case "ours": throw NotelogError(.invalidArgument, "no such age")
      case "sealed":
        lockKeys.withLock { $0.take() }?()
        guest.set(\.secret, "opened")
      default: guest.set(\.years, Int(age) ?? 0)
      }
    }
  }
}

@Suite(.serialized) struct MigrationErrorTests {
  /// A store with one record of that age, unlocked, and what migrating it throws.
  private func failure(of age: String) throws -> (any Error, RecordID) {
    let folder = try TemporaryFolder()
    let guest = Before(age: age, secret: "s")
    let store = try folder.create()
    try store.putAll([Before(age: "7"), guest])
    lockKeys.withLock { $0 = { store.lock() } }
    let thrown = try #require(throws: (any Error).self) { try store.migrate(After.self) }
    try store.close()
    return (thrown, guest.id)
  }

  /// The closure's error went through as it was: "The operation could not be completed", and no word of
  /// where.
  @Test func `a closure's own error becomes one that names collection, record and cause`() throws {
    let (thrown, id) = try failure(of: "cocoa")
    let error = try #require(thrown as? NotelogError)
    #expect(error.code == .schemaConflict && error.record == id)
    #expect(error.message.hasPrefix("guest: record \(id) can't be migrated: "), "\(error)")
    #expect(error.message.contains("4866") || error.message.contains("CocoaError"), "\(error)")
  }

  @Test func `a cancellation stays one, and an error of the library keeps its code`() throws {
    #expect(try failure(of: "cancelled").0 is CancellationError)
    let (thrown, id) = try failure(of: "ours")
    let error = try #require(thrown as? NotelogError)
    #expect(error.code == .invalidArgument && error.record == id)
    #expect(error.message == "guest: record \(id) can't be migrated: no such age")
  }

  @Test func `a locked key is said with the record, once`() throws {
    let (thrown, id) = try failure(of: "sealed")
    let error = try #require(thrown as? NotelogError)
    #expect(error.code == .locked && error.record == id)
    #expect(error.message.components(separatedBy: "\(id)").count == 2, "\(error)")
  }
}
