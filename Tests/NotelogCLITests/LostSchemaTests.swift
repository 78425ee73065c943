// What the tool says of records whose schema is gone.

import NotelogBase
import NotelogFormat
import NotelogStorage
import Foundation
@testable import Notelog
import Testing

/// The bug: `dump`, `list` and `search` showed nothing, `info` counted, `get` said that there is no such
/// record, and none of them said a word or exited with anything but 0 or 1; `verify` said sound.
@Suite struct LostSchemaTests {
  @Test func `every verb says that records can't be shown whose schema is lost`() throws {
    let bench = try Workbench()
    let prelude =
      storePrelude + """
        notelog add my.notelog title=Hello body=Body $quick >id
        notelog add my.notelog title=Hello body=Body $quick >/dev/null

        """
    #expect(try bench.run(prelude + "notelog dump my.notelog >/dev/null").code == 0)
    let journal = try Journal.open(in: SystemStorage(path: bench.folder.path + "/my.notelog"))
    var batch = Batch()
    batch.delete(ID16(low: 1, high: 0), collection: 0)
    try journal.commit(&batch, .durable)
    try journal.close()
    try FileManager.default.removeItem(at: bench.folder.appending(path: "my.notelog/schemas"))
    let line = "notelog: error: 2 records of collection 1 cannot be shown: the schema is lost\n"
    let quick = "--key-file key"
    for verb in [
      "dump my.notelog", "list my.notelog", "list my.notelog note", "search my.notelog Hello \(quick)",
      "info my.notelog",
    ] {
      let answer = try bench.run("notelog \(verb)")
      #expect(answer.code == 3, "\(verb)")
      // What else is wrong beside the log, `verify` says.
      let hint = "notelog: hint: 'notelog verify my.notelog' says what is damaged\n"
      #expect(answer.err == line + (verb.hasPrefix("info") ? hint : ""), "\(verb)")
    }
    #expect(try bench.run("notelog get my.notelog $(cat id) \(quick)").code == 3)
    let verified = try bench.run("notelog verify my.notelog")
    #expect(verified.code == 1 && verified.out.contains("2 records of collection 1 have no schema"))
  }
}
