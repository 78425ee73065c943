// MoveNotes: out of a Core Data database with sealed attributes, into a store that SecureNote opens.

import Foundation
import Notelog
import TerminalUI

let usage = """
  usage: MoveNotes DATABASE STORE      moves table ZNOTE; asks for its password, which becomes the store's
         MoveNotes DATABASE --make N   makes a database of so many notes to try it with
  """

var arguments = Arguments()
let making = arguments.take("--make").map { Int($0) ?? 0 }
guard arguments.words.count == (making == nil ? 2 : 1), making ?? 1 > 0 else { fail(usage) }
do {
  let database = Database(path: arguments.words[0])
  let password = askForSecret("password: ")
  let seal = OldSeal(password: password)
  if let making {
    try database.make(sampleRows(making, seal))
    print("\(making) rows made")
  } else {
    let path = arguments.words[1]
    let store = try Store.openOrCreate(at: path, unlocking: .password(password))
    let summary = try Move(database: database, store: store, seal: seal).run()
    let (rowCount, recordCount) = (try database.count(), try store.query(Note.self).count())
    try store.close()
    print("\(summary.movedCount) rows moved, \(rowCount) rows there, \(recordCount) records here")
    print("sha256 there \(summary.old)\nsha256 here  \(summary.new)")
    guard summary.old == summary.new, rowCount == recordCount else { fail("They are not the same.") }
  }
} catch {
  fail(error.localizedDescription)
}
