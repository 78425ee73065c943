// What is closed while somebody uses it.

import Foundation
import NotelogConcurrency
@testable import NotelogJournal
import Synchronization
import Testing

@Suite struct OccupancyTests {
  @Test func `who is inside is waited for, and nobody comes in afterwards`() {
    let occupancy = Occupancy()
    #expect(occupancy.enter())
    #expect(occupancy.enter())
    occupancy.bar()
    #expect(!occupancy.enter())
    occupancy.leave()
    let hasLeft = Flag(false)
    let thread = Thread {
      _ = hasLeft.exchange(true)
      occupancy.leave()
    }
    thread.start()
    occupancy.waitUntilEmpty()
    #expect(hasLeft.isSet)
    #expect(!occupancy.enter())
    occupancy.waitUntilEmpty()
  }

  /// The bug: a writer that was late, after another's write had failed and the store had been closed, wrote into whatever file
  /// had the descriptor's number by then.
  @Test func `a file that was closed takes nothing, although its number is another's`() throws {
    let store = try TemporaryStore()
    let late = try store.storage.open("late", .createNew)
    late.close()
    let other = try store.storage.open("other", .createNew)
    let refused = SystemErrno.badDescriptor
    let bytes: [UInt8] = [1, 2, 3]
    #expect(throws: StorageError(.write, "late", errno: refused)) { try late.writeAll(bytes.rawSpan, at: 0) }
    #expect(throws: StorageError(.truncate, "late", errno: refused)) { try late.truncate(to: 9) }
    #expect(throws: StorageError(.allocate, "late", errno: refused)) { try late.allocate(0..<9) }
    #expect(throws: StorageError(.sync, "late", errno: refused)) { try late.sync() }
    #expect(try other.byteCount() == 0)
  }
}
