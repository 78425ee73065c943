// Taps: where stays in the clear, their colour is sealed. Two versions of the app, which open each other's stores.

import Foundation
import Notelog

/// A colour of the app's own, kept as one value.
struct Color: Codable, Hashable, Sendable, FieldValue {
  var red = 0.0
  var green = 0.0
  var blue = 0.0

  static let named: [String: Color] = [
    "red": Color(red: 0.9, green: 0.2, blue: 0.2), "green": Color(red: 0.2, green: 0.7, blue: 0.3),
    "blue": Color(red: 0.2, green: 0.4, blue: 0.9), "yellow": Color(red: 0.95, green: 0.8, blue: 0.2),
  ]

  var bytes: [Int] { [red, green, blue].map { Int(($0 * 255).rounded()) } }
}

/// A tap as version 1 of the app has it.
struct Tap: Record {
  var id = RecordID()
  var time = Date()
  var x = 0.0
  var y = 0.0
  var color = Color()
  var remark = ""
  static let schema = Schema<Tap>("tap") {
    Plain("time", \.time, indexed: true)
    Plain("x", \.x)
    Plain("y", \.y)
    Sealed("color", \.color)
    Plain("remark", \.remark)
  }
}

/// The same in version 2: a finger's pressure is new, two fields have better names, remarks are retired.
struct Touch: Record {
  var id = RecordID()
  var time = Date()
  var left = 0.0
  var top = 0.0
  var pressure = 0.5
  var color = Color()
  static let schema = Schema<Touch>("tap") {
    Plain("time", \.time, indexed: true)
    Plain("left", \.left, formerly: "x")
    Plain("top", \.top, formerly: "y")
    Plain("pressure", \.pressure)
    Sealed("color", \.color)
    Retired("remark")
  }
}

/// What is drawn of a tap, in either version.
struct Dot {
  var x: Double
  var y: Double
  var radius: Double
  var color: Color?
}
