// A process that reads a store while another one writes it, and says what it saw that can't be.

import Glibc
import NotelogBase
import NotelogCare
import NotelogFormat
import NotelogJournal
import NotelogStorage

/// The writer gives all records of a group one version in one transaction, and versions only grow.
func run(path: String, groups: Int, members: Int) throws {
  let storage = SystemStorage(path: path)
  var options = JournalOptions()
  options.isReadOnly = true
  var last = [UInt64](repeating: 0, count: groups)
  var count = 0
  let parent = getppid()
  // The file ends it; a parent that is gone does too.
  while try !storage.names(in: "").contains("stop"), getppid() == parent {
    let journal = try Journal.open(in: storage, options: options)
    count += 1
    if !journal.report.damages.isEmpty { fail("damages \(journal.report.damages)") }
    if !journal.report.torn.isEmpty { fail("a verdict above the floor: \(journal.report.torn)") }
    for group in 0..<groups {
      var version: UInt64?
      for member in 0..<members {
        let id = ID16(low: UInt64(group * members + member), high: 0x7465_7374)
        var buffer = ReadBuffer()
        guard try journal.read(id, into: &buffer) != nil else { fail("record \(group).\(member) is missing") }
        let found = buffer.body.load(UInt64.self, at: 0)
        if let version, version != found { fail("half a transaction: \(version) and \(found)") }
        version = found
      }
      if let version, version < last[group] { fail("backwards from \(last[group]) to \(version)") }
      last[group] = version ?? 0
    }
  }
  print("ok \(count) openings")
}

/// Verifies it again and again, while segments are replaced, unlinked and finished.
func verify(path: String) throws {
  let storage = SystemStorage(path: path)
  var count = 0
  let parent = getppid()
  while try !storage.names(in: "").contains("stop"), getppid() == parent {
    let verification = try Journal.verify(storage)
    if !verification.isSound { fail("damages \(verification.report.damages), \(verification.index)") }
    count += 1
  }
  print("ok \(count) verifications")
}

func fail(_ what: String) -> Never {
  print("wrong: \(what)")
  fatalError(what)
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let groups = Int(arguments[2]), let members = Int(arguments[3]) else {
  fatalError("usage: ReaderChild path groups members")
}
do {
  if groups == 0 {
    try verify(path: arguments[1])
  } else {
    try run(path: arguments[1], groups: groups, members: members)
  }
} catch { fail("\(error)") }
