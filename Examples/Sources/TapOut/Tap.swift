// Taps: where they were is in the clear, their colour is sealed. Two versions of the app read and write them.

import Foundation
import Notelog

/// A colour of the app's own: one value to the store, whatever it is made of.
struct Color: Equatable, FieldValue {
  var red: UInt8 = 0
  var green: UInt8 = 0
  var blue: UInt8 = 0
}

extension Color {
  var stored: [UInt8] { [red, green, blue] }

  init(stored: [UInt8]) throws {
    guard stored.count == 3 else { throw NotelogError(.typeMismatch, "a colour has three bytes") }
    self.init(red: stored[0], green: stored[1], blue: stored[2])
  }

  /// A colour as style sheets write it: `e63946`.
  init?(_ text: String) {
    guard text.utf8.count == 6, let number = UInt32(text, radix: 16) else { return nil }
    self.init(red: UInt8(number >> 16), green: UInt8(number >> 8 & 0xFF), blue: UInt8(number & 0xFF))
  }
}

/// A tap as version 1 of the app has it.
struct Tap: Record {
  var id = RecordID()
  var time = Date()
  var x: Float = 0
  var y: Float = 0
  var color = Color()
  var finger = 1
  static let schema = Schema<Tap>("tap") {
    Plain("time", \.time, indexed: true)
    Plain("x", \.x)
    Plain("y", \.y)
    Plain("finger", \.finger)
    Sealed("color", \.color)
  }
}

/// A tap as version 2 has it: how hard it was is new, the colour has another name, and which finger it was is
/// no more.
struct Tap2: Record {
  var id = RecordID()
  var time = Date()
  var x: Float = 0
  var y: Float = 0
  var fill = Color()
  var radius: Float = 2
  static let schema = Schema<Tap2>("tap") {
    Plain("time", \.time, indexed: true)
    Plain("x", \.x)
    Plain("y", \.y)
    Plain("radius", \.radius)
    Sealed("fill", \.fill, formerly: "color")
    Retired("finger")
  }
}

/// What either version draws.
protocol Drawable: Record {
  init(x: Float, y: Float, color: Color)
  var dot: Dot { get }
  /// Queries know a field by its own type's path, not by a protocol's.
  static var timePath: FieldKeyPath<Self, Date> { get }
}

struct Dot: Equatable {
  var x: Float
  var y: Float
  var radius: Float
  var color: Color
}

extension Tap: Drawable {
  init(x: Float, y: Float, color: Color) { (self.x, self.y, self.color) = (x, y, color) }
  static var timePath: FieldKeyPath<Tap, Date> { \.time }
  var dot: Dot { Dot(x: x, y: y, radius: 2, color: color) }
}

extension Tap2: Drawable {
  init(x: Float, y: Float, color: Color) { (self.x, self.y, fill, radius) = (x, y, color, 4) }
  static var timePath: FieldKeyPath<Tap2, Date> { \.time }
  var dot: Dot { Dot(x: x, y: y, radius: radius, color: fill) }
}
