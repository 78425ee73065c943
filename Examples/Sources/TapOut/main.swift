// TapOut: taps that are kept, drawn, and followed as they come.

import Foundation
import Notelog
import TerminalUI

let usage = """
  usage: TapOut STORE [--version 1|2] COMMAND
    tap X Y COLOR       taps at 0 to 100 from the left and from the top; a colour is six digits: e63946
    undo                takes the last tap back
    draw                draws all taps
    svg FILE            draws them into a file
    live [COUNT]        lists them, then each change as it comes, until so many have come
  """

func run<Tap: Drawable>(_ version: Tap.Type, _ path: String, _ words: [String]) async throws {
  let canvas = try Canvas<Tap>(at: path)
  switch (words.first, words.count) {
  case ("tap", 4):
    guard let x = Float(words[1]), let y = Float(words[2]), let color = Color(words[3]) else { fail(usage) }
    try canvas.tap(x, y, color)
  case ("undo", 1): if try !canvas.undo() { fail("There is no tap.") }
  case ("draw", 1): for row in Picture.rows(try canvas.dots()) { print(row.text) }
  case ("svg", 2):
    try Picture.svg(try canvas.dots()).write(toFile: words[1], atomically: true, encoding: .utf8)
  case ("live", 1...2):
    var left = words.count == 2 ? Int(words[1]) ?? 0 : .max
    var shown: [RecordID: Dot] = [:]
    try await canvas.follow { update in
      for id in update.removed { if let dot = shown.removeValue(forKey: id) { print(dot.row("-").text) } }
      for entry in update.entries where update.inserted.contains(entry.id) {
        let dot = try entry.record().dot
        shown[entry.id] = dot
        print(dot.row("+").text)
      }
      print("\(update.entries.count) taps")
      fflush(nil)
      left -= 1
      return left >= 0
    }
  default: fail(usage)
  }
  try await canvas.store.close()
}

var arguments = Arguments()
let version = arguments.take("--version") ?? "1"
guard let path = arguments.words.first, ["1", "2"].contains(version) else { fail(usage) }
let words = Array(arguments.words.dropFirst())
do {
  if version == "1" { try await run(Tap.self, path, words) } else { try await run(Tap2.self, path, words) }
} catch {
  fail(error.localizedDescription)
}
