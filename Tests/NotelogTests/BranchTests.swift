// Branches and the times of commits: FORMAT.md §4 and §6.

import Foundation
import NotelogTestSupport
import Testing

@testable import Notelog

@Suite struct BranchTests {
  /// The times of all commits that the store's files show.
  private func commitTimes(at path: String) throws -> [String] {
    var notes: [String] = []
    try Store.forEachPiece(at: path) { if $0.kind == .commit { notes.append($0.note) } }
    return notes
  }

  @Test func `a restored store and a salvaged one are on a branch of their own, and stay on it`() throws {
    let (folder, backup) = (try TemporaryFolder(), try TemporaryFolder())
    let store = try folder.create()
    try store.putAll([Note(title: "Clark")])
    let branch = store.info().branch
    try store.ship(to: backup.archive)
    try store.close()
    let again = try folder.open()
    #expect(again.info().branch == branch)
    try again.close()
    var seen: Set<String> = [branch]
    for isSalvaged in [false, false, true] {
      let copy = try TemporaryFolder()
      if isSalvaged {
        _ = try Store.salvage(from: folder.path, to: copy.path)
      } else {
        #expect(try Store.restore(from: backup.archive, to: copy.path).findings.isEmpty)
      }
      let opened = try copy.open()
      #expect(opened.info().id == again.info().id)
      #expect(seen.insert(opened.info().branch).inserted)
      try opened.putAll([Note(title: "Lewis")])
      try opened.compact()
      let now = opened.info().branch
      try opened.close()
      let reopened = try copy.open()
      #expect(reopened.info().branch == now)
      #expect(try reopened.query(Note.self).count() == 2)
      try reopened.close()
    }
  }

  /// Nothing of the log is unfinished then, and what is finished never changes.
  @Test func `a store that was just recovered is restored on a branch of its own too`() throws {
    let disk = SimulatedDisk()
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: Store.Options())
    try store.putAll([Note(title: "Clark")])
    let crashed = disk.crashImageNow(LossModel.allCases[0], seed: 1)
    let recovered = try Store.open(in: crashed, unlocking: TemporaryFolder.key, options: Store.Options())
    let branch = recovered.info().branch
    #expect(branch == store.info().branch)
    let (backup, copy) = (SimulatedDisk(), SimulatedDisk())
    #expect(try Shipper(crashed, to: backup.archive).ship().findings.isEmpty)
    #expect(try Store.restore(backup.archive, to: copy).findings.isEmpty)
    let restored = try Store.open(in: copy, unlocking: TemporaryFolder.key, options: Store.Options())
    #expect(restored.info().branch != branch)
    #expect(try restored.query(Note.self).count() == 1)
    try restored.close()
  }

  @Test func `commits have their times only where the store was created with them`() throws {
    for keepsTimes in [false, true] {
      let folder = try TemporaryFolder()
      var options = Store.Options()
      options.keepsCommitTimes = keepsTimes
      let before = UInt64(Date().timeIntervalSince1970 * 1000)
      let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
      try store.putAll([Note(title: "Clark")])
      try store.close()
      // The choice is the store's: what is said at a later opening does not count.
      options.keepsCommitTimes = !keepsTimes
      let again = try Store.open(at: folder.path, unlocking: TemporaryFolder.key, options: options)
      try again.putAll([Note(title: "Lewis")])
      #expect(again.info().keepsCommitTimes == keepsTimes)
      try again.close()
      let after = UInt64(Date().timeIntervalSince1970 * 1000)
      let notes = try commitTimes(at: folder.path)
      #expect(notes.count >= 2)
      for note in notes {
        let time = note.firstMatch(of: /at (\d+) ms/).flatMap { UInt64($0.1) }
        #expect(time.map { (before...after).contains($0) } ?? false == keepsTimes, "\(note)")
      }
    }
  }

  @Test func `what recovery copies keeps its time`() throws {
    let disk = SimulatedDisk()
    var options = Store.Options()
    options.keepsCommitTimes = true
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options)
    try store.putAll([Note(title: "Clark")])
    let crashed = disk.crashImageNow(LossModel.allCases[0], seed: 1)
    try Store.open(in: crashed, unlocking: TemporaryFolder.key, options: Store.Options()).close()
    var times: [String: Int] = [:]
    for image in [disk, crashed] {
      try Store.forEachPiece(in: image) { piece in
        guard piece.kind == .commit, let found = piece.note.firstMatch(of: /at (\d+) ms/) else { return }
        times["\(piece.revision ?? 0) \(found.1)", default: 0] += 1
      }
    }
    // Each commit that was copied shows the time that it had before.
    #expect(!times.isEmpty && times.values.allSatisfy { $0 >= 2 }, "\(times)")
  }
}
