// A process that reads a store while another one writes it, and says what it saw that can't be.
//
// Usage: ReaderChild FOLDER GROUPS MEMBERS. The writer gives all records of a group one version in one
// transaction, and versions only grow. With 0 groups it verifies the store instead, again and again.

import Foundation
import Notelog

struct Member: Record {
  var id = RecordID()
  var version = 0
  var filling = Data()
  static let schema = Schema<Member>("member") {
    Plain("version", \.version)
    Plain("filling", \.filling)
  }
}

func read(_ path: String, _ groups: Int, _ members: Int) throws -> Int {
  var options = Store.Options()
  options.isReadOnly = true
  var last = [Int](repeating: 0, count: groups)
  var count = 0
  while isWanted(path) {
    let store = try Store.open(at: path, unlocking: nil, options: options)
    count += 1
    if !store.damage.findings.isEmpty { fail("damages \(store.damage.findings)") }
    if store.info().verdict != .sound { fail("a verdict above the floor: \(store.info().verdict)") }
    for group in 0..<groups {
      var version: Int?
      for member in 0..<members {
        let id = try RecordID(of: group * members + member, in: "member")
        guard let found = try store.get(Member.self, id)?.version else {
          fail("record \(group).\(member) is missing")
        }
        if let version, version != found { fail("half a transaction: \(version) and \(found)") }
        version = found
      }
      if let version, version < last[group] { fail("backwards from \(last[group]) to \(version)") }
      last[group] = version ?? 0
    }
    try store.close()
  }
  return count
}

func verify(_ path: String) throws -> Int {
  var count = 0
  while isWanted(path) {
    let verification = try Store.verify(at: path)
    if verification.verdict != .sound {
      fail("\(verification.findings), \(verification.tornByteCount) torn")
    }
    count += 1
  }
  return count
}

let parent = getppid()

/// The file ends it; a parent that is gone does too.
func isWanted(_ path: String) -> Bool {
  !FileManager.default.fileExists(atPath: path + "/stop") && getppid() == parent
}

/// Says it in one call: what is printed would be lost.
func fail(_ what: String) -> Never {
  FileHandle.standardOutput.write(Data("wrong: \(what)\n".utf8))
  fatalError(what)
}

let arguments = CommandLine.arguments
guard arguments.count == 4, let groups = Int(arguments[2]), let members = Int(arguments[3]) else {
  fatalError("usage: ReaderChild FOLDER GROUPS MEMBERS")
}
do {
  let count = groups == 0 ? try verify(arguments[1]) : try read(arguments[1], groups, members)
  print("ok \(count) times")
} catch { fail("\(error)") }
