import Foundation
import Notelog

struct Sighting: Record {
  var id = RecordID()
  var time = Date()
  var species = ""
  var place = ""
  static let schema = Schema<Sighting>("sighting") {
    Plain("time", \.time, indexed: true)
    Plain("species", \.species)
    Sealed("place", \.place)
  }
}

/// Opens the store, or makes it where there is none.
func openStore(at path: String, _ credential: Credential) throws -> Store {
  do {
    return try Store.open(at: path, unlocking: credential)
  } catch let error as NotelogError where error.code == .notFound {
    return try Store.create(at: path, unlocking: credential)
  }
}

let password = "correct horse battery staple"
let store = try openStore(at: "birds.notelog", .password(password))
let seen = Sighting(species: "Hoopoe", place: "the old mill, third willow")
try store.write { tx in try tx.put(seen) }
print("Written:", try store.query(Sighting.self).count())
