import Foundation
import Notelog

struct Sighting: Record {
  var id = RecordID()
  var time = Date()
  var species = ""
  static let schema = Schema<Sighting>("sighting") {
    Plain("time", \.time, indexed: true)
    Plain("species", \.species)
  }
}
