// Streams a large value into a store and out again, lists as many bytes of records, and says how much memory
// the process took for that at most.
//
// Usage: StreamChild FOLDER MEBIBYTES. Prints `read MEBIBYTES peak KIBIBYTES listed KIBIBYTES`: the peak when
// the value was streamed, and the one when the records were listed too.

import Foundation
import Notelog

struct Film: Record {
  var id = RecordID()
  var frames: [UInt8] = []
  static let schema = Schema<Film>("film") { Sealed("frames", \.frames) }
}

/// Numbers that never repeat, made as they are wanted.
struct Reel {
  private var word: UInt64 = 1

  mutating func next() -> UInt64 {
    word = word &* 6_364_136_223_846_793_005 &+ 1
    return word
  }
}

/// Records that an index can't tell apart: it has the first sixteen bytes of a text.
struct Clip: Record {
  var id = RecordID()
  var address = ""
  var frames: [UInt8] = []
  static let schema = Schema<Clip>("clip") {
    Plain("address", \.address, indexed: true)
    Plain("frames", \.frames)
  }
}

struct Mistake: Error {}

func peakKibibyteCount() throws -> String {
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  guard let line = status.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
    let peak = line.split(whereSeparator: \.isWhitespace).dropFirst().first
  else { throw Mistake() }
  return String(peak)
}

let folder = CommandLine.arguments[1]
guard let mebibyteCount = Int(CommandLine.arguments[2]) else { throw Mistake() }
let byteCount = mebibyteCount << 20
let key = Credential.key([UInt8](repeating: 1, count: 32))
let film = Film()

do {
  let store = try Store.create(at: folder, unlocking: key)
  var written = Reel()
  var left = byteCount
  let upload = try store.upload(to: \Film.frames, of: film.id) { buffer in
    let count = min(left, buffer.byteCount)
    for offset in stride(from: 0, to: count, by: 8) {
      buffer.storeBytes(of: written.next(), toByteOffset: offset, as: UInt64.self)
    }
    left -= count
    return count
  }
  try store.write { tx in
    try tx.put(film)
    try tx.update(Film.self, film.id) { $0.set(\.frames, upload) }
  }
  try store.close()
}

let store = try Store.open(at: folder, unlocking: key)
guard let content = try store.get(Film.self, film.id)?.content(of: \.frames), content.byteCount == byteCount
else {
  throw Mistake()
}
var expected = Reel()
var readCount = 0
try content.forEachPiece { piece in
  for start in stride(from: 0, to: piece.count, by: 8) {
    var word: UInt64 = 0
    for index in 0..<8 { word |= UInt64(piece[start + index]) << (8 * UInt64(index)) }
    guard word == expected.next() else { throw Mistake() }
  }
  readCount += piece.count
}
// The middle of it, by range.
guard try content.read(byteCount / 2..<byteCount / 2 + 10).count == 10 else { throw Mistake() }
let streamed = try peakKibibyteCount()
// As many bytes in records of one mebibyte, listed by the index, without a limit.
var reel = [UInt8](repeating: 0, count: 1 << 20)
for number in 0..<mebibyteCount {
  reel[number & 0xFFFFF] = UInt8(number & 0xFF)
  try store.putAll([Clip(address: "https://www.example/\(number)", frames: reel)], .flushed)
}
var listedCount = 0
guard let clips = store.collections.first(where: { $0.name == "clip" }) else { throw Mistake() }
try clips.query().sorted(by: "address").forEach { _ in
  listedCount += 1
  return true
}
guard listedCount == mebibyteCount else { throw Mistake() }
try store.close()
print("read \(readCount >> 20) peak \(streamed) listed \(try peakKibibyteCount())")
