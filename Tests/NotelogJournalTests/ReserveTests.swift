// The file `reserve`: FORMAT.md §23.

import NotelogTestSupport
import Testing

@testable import Notelog

/// The space set aside for a full disk.
@Suite struct ReserveTests {
  /// Opening alone writes nothing; whoever writes may need it.
  @Test func `a reserve that is gone is filled again by the first commit`() throws {
    let disk = SimulatedDisk()
    var journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    try journal.put(key(1), [1])
    try journal.close()
    let byteCount = try #require(disk.contents("reserve")).count
    disk.replace("reserve", with: nil)
    journal = try Journal.open(in: disk, options: .small)
    #expect(try journal.body(of: key(1)) == [1])
    #expect(disk.contents("reserve") == nil)
    try journal.delete(key(1))
    #expect(disk.contents("reserve")?.count == byteCount)
    try journal.close()
  }
}
