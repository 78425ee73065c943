// The record types that the tests keep, and a source of reproducible randomness.

import Foundation
import Notelog

struct Note: Record {
  var id = RecordID()
  var time = Date()
  var title = ""
  var body = ""
  static let schema = Schema<Note>("note") {
    Plain("time", \.time, indexed: true)
    Sealed("title", \.title)
    Sealed("body", \.body, key: "personal", compressed: true)
  }
}

struct Address: Codable, Hashable, FieldValue {
  var street = ""
  var number = 0
}

struct Colour: Hashable, FieldValue {
  var red: UInt8 = 0
  var green: UInt8 = 0
  var blue: UInt8 = 0

  var stored: [UInt8] { [red, green, blue] }
}

extension Colour {
  init(stored: [UInt8]) throws {
    guard stored.count == 3 else { throw NotelogError(.typeMismatch, "a colour has three bytes") }
    self.init(red: stored[0], green: stored[1], blue: stored[2])
  }
}

/// A record with a field of every kind.
struct Everything: Record, Equatable {
  var id = RecordID()
  var flag = false
  var count = 0
  var small: Int16 = 0
  var mask: UInt32 = 0
  var ratio = 0.0
  var narrow: Float = 0
  var name = ""
  var raw: [UInt8] = []
  var data = Data()
  var moment = Date(timeIntervalSinceReferenceDate: 0)
  var uuid = UUID(uuid: (0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0))
  var link = URL(filePath: "/")
  var address = Address()
  var colour = Colour()
  var perhaps: String?
  var secret: Date?
  static let schema = Schema<Everything>("everything") {
    Plain("flag", \.flag, indexed: true)
    Plain("count", \.count, indexed: true)
    Sealed("small", \.small)
    Plain("mask", \.mask)
    Sealed("ratio", \.ratio)
    Plain("narrow", \.narrow)
    Plain("name", \.name, indexed: true)
    Sealed("raw", \.raw)
    Plain("data", \.data)
    Plain("moment", \.moment, indexed: true)
    Sealed("uuid", \.uuid, padded: true)
    Plain("link", \.link)
    Sealed("address", \.address, compressed: true)
    Plain("colour", \.colour)
    Plain("perhaps", \.perhaps, indexed: true)
    Sealed("secret", \.secret)
  }
}

/// A record whose properties are not all stored as they are declared.
struct Observed: Record {
  var id = RecordID()
  var changes = 0
  var watched = "" { didSet { changes += 1 } }
  var celsius = 0.0
  var fahrenheit: Double {
    get { celsius * 9 / 5 + 32 }
    set { celsius = (newValue - 32) * 5 / 9 }
  }
  static let schema = Schema<Observed>("observed") {
    Plain("watched", \.watched)
    Sealed("fahrenheit", \.fahrenheit)
  }
}
