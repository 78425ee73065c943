// Stores in a folder that goes away with the test.

import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

/// A folder for one test's store.
final class TemporaryFolder {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "notelog-\(UUID().uuidString)").path()
  }

  /// The archive that is in it.
  var archive: FolderArchive { get throws { FolderArchive(path: path) } }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  static let key = Credential.key([UInt8](repeating: 42, count: 32))

  /// Creates the store, unlocked by a raw key: scrypt would only cost time.
  func create() throws -> Store { try Store.create(at: path, unlocking: Self.key) }

  /// Opens the store.
  func open(_ credential: Credential? = key) throws -> Store {
    try Store.open(at: path, unlocking: credential)
  }
}

extension SimulatedDisk {
  /// The archive that is on it.
  var archive: FolderArchive { FolderArchive(self) }
}
