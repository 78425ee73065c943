// A file whose bytes are changed with checksums that fit: what only a writer that errs, or an attacker, can
// make.

@testable import NotelogBase
@testable import NotelogFormat
@testable import Notelog
import NotelogTestSupport

/// A segment's bytes, taken from a disk, forged and put back.
struct ForgedFile {
  let name: String
  var bytes: [UInt8]

  /// - Precondition: The disk has the file.
  init(_ name: String, on disk: SimulatedDisk) throws {
    self.name = name
    guard let bytes = disk.contents(name) else { throw Missing() }
    self.bytes = bytes
  }

  struct Missing: Error {}

  var salt: SegmentSalt { SegmentSalt(integer(40, 8)) }

  func integer(_ place: Int, _ count: Int) -> UInt64 {
    (0..<count).reduce(0) { $0 | UInt64(bytes[place + $1]) << (8 * UInt64($1)) }
  }

  mutating func set(_ value: UInt64, at place: Int, count: Int) {
    for index in 0..<count { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * UInt64(index))) }
  }

  /// The payload of the frame at a place.
  func payload(at place: Int) -> Range<Int> { place + 40..<place + 40 + Int(integer(place + 4, 4)) }

  /// Makes both checksums of the frame at a place fit what it says.
  mutating func seal(frameAt place: Int) {
    let payload = payload(at: place)
    set(UInt64(bytes[payload].withContiguous { Checksum.of($0) }), at: place + 32, count: 4)
    let salt = salt
    let checksum = bytes[place..<place + 36].withContiguous { salt.headerChecksum($0, place: place) }
    set(UInt64(checksum), at: place + 36, count: 4)
  }

  /// Where a finished segment's footer frame begins.
  var footer: Int { bytes.count - 24 - Int(integer(bytes.count - 20, 4)) }

  /// Makes the checksums of a finished segment's footer, and of its trailer, fit what the footer says.
  mutating func sealFooter() {
    seal(frameAt: footer)
    set(integer(footer + 32, 4), at: bytes.count - 16, count: 4)
    let checksum = bytes[(bytes.count - 24)..<(bytes.count - 12)].withContiguous { Checksum.of($0) }
    set(UInt64(checksum), at: bytes.count - 12, count: 4)
  }

  /// Makes the checksum of a checkpoint's first block fit what it says.
  mutating func sealFirstBlock() {
    set(UInt64(([0, 0, 0, 0] + bytes[..<4_088]).withContiguous { Checksum.of($0) }), at: 4_088, count: 4)
  }

  /// Makes a header copy's checksum fit what it says.
  mutating func seal(headerAt place: Int) {
    set(UInt64(bytes[place..<place + 508].withContiguous { Checksum.of($0) }), at: place + 508, count: 4)
  }

  func put(on disk: SimulatedDisk) { disk.replace(name, with: bytes) }
}

extension Collection<UInt8> {
  /// Lends a copy of the bytes as a span.
  func withContiguous<Result>(_ body: (RawSpan) -> Result) -> Result {
    var buffer = Buffer()
    buffer.append(Array(self).rawSpan)
    return body(buffer.bytes)
  }
}
