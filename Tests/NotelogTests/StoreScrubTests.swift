// A scrub of a store in use: in steps, across openings, and beside a compaction.

import Foundation
import Testing

@testable import Notelog

@Suite struct StoreScrubTests {
  /// A store of many small segments.
  private func filled(_ folder: borrowing TemporaryFolder) throws -> (Store, [Note]) {
    var options = Store.Options()
    options.segmentByteCount = 64 << 10
    let store = try Store.create(at: folder.path, unlocking: TemporaryFolder.key, options: options)
    let notes = (0..<400).map {
      // Nothing that compression makes less of.
      Note(title: "title \($0)", body: (0..<20).map { _ in UUID().uuidString }.joined())
    }
    for note in notes { try store.write(.buffered) { tx in try tx.put(note) } }
    return (store, notes)
  }

  @Test func `steps across openings come round to every finished segment, and find what is damaged`() throws {
    let folder = try TemporaryFolder()
    let whole = try {
      let (store, _) = try filled(folder)
      let whole = try store.scrub()
      try store.close()
      return whole
    }()
    #expect(whole.findings.isEmpty && whole.next == nil && whole.segmentCount > 3)
    try folder.alter("000000000002.journal") { $0[9_000] ^= 1 }
    var findings: [Finding] = []
    var segmentCount = 0
    var kept = Data()
    repeat {
      let store = try Store.open(at: folder.path)
      let position = kept.isEmpty ? nil : try JSONDecoder().decode(Int.self, from: kept)
      let step = try store.scrub(from: position, .bytes(1))
      #expect(step.segmentCount == 1 && step.byteCount > 0 && step.frameCount > 0)
      segmentCount += step.segmentCount
      findings += step.findings
      kept = try step.next.map { try JSONEncoder().encode($0) } ?? Data()
      try store.close()
    } while !kept.isEmpty
    #expect(segmentCount == whole.segmentCount)
    #expect(findings.map(\.segment) == [2])
    #expect(findings.allSatisfy { $0.isDamage && $0.part == .structure && $0.offset != nil })
  }

  @Test func `a scrub without time reads one segment, and one of a closed store says so`() async throws {
    let folder = try TemporaryFolder()
    let (store, _) = try filled(folder)
    let step = try store.scrub(.time(.zero))
    #expect(step.segmentCount == 1 && step.next != nil)
    try await store.close()
    #expect(throws: NotelogError(.closed, "")) { try store.scrub() }
  }

  @Test func `what compaction takes away meanwhile is no error and no damage`() async throws {
    let folder = try TemporaryFolder()
    let notes = try {
      let (store, notes) = try filled(folder)
      try store.close()
      return notes
    }()
    // Opened anew, segments are not open yet.
    let store = try folder.open()
    let scrubbing = Task {
      var (findings, rounds) = (0, 0)
      while !Task.isCancelled || rounds == 0 {
        findings += try store.scrub().findings.count
        rounds += 1
      }
      return findings
    }
    for round in 0..<10 {
      try await store.write(.buffered) { tx in
        for note in notes { try tx.put(Note(id: note.id, title: "round \(round)", body: note.body)) }
      }
      try store.compact()
    }
    scrubbing.cancel()
    #expect(try await scrubbing.value == 0)
    try await store.close()
  }
}
