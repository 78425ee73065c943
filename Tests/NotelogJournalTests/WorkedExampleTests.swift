// docs/format-example.md shows a segment in hex; here the journal writes it.

@testable import NotelogBase
@testable import NotelogStorage
import NotelogFormat
import Foundation
@testable import Notelog
import Testing

@Suite struct WorkedExampleTests {
  /// The segment that the page shows: one record put, the store closed.
  private func exampleSegment() throws -> [UInt8] {
    let store = try TemporaryStore()
    var options = JournalOptions()
    options.segmentByteCount = 16 << 10
    options.random = { 0x8877_6655_4433_2211 }
    let id = ID16(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908)
    let journal = try Journal.create(
      in: store.storage, storeID: ID16(low: 0xA7A6_A5A4_A3A2_A1A0, high: 0xAFAE_ADAC_ABAA_A9A8),
      options: options)
    var batch = Batch()
    let body = Array("hello, journal".utf8)
    batch.put(id, collection: 7, bodyByteCount: body.count) { bytes in
      bytes.copy(body.rawSpan, at: 0)
    }
    try journal.commit(&batch)
    try journal.close()
    return try Array(Data(contentsOf: URL(fileURLWithPath: store.storage.path + "/" + FileName.segment(1))))
  }

  /// Sixteen bytes a line, lines of zeros left out.
  private func hex(_ bytes: [UInt8]) -> [String] {
    stride(from: 0, to: bytes.count, by: 16).compactMap { start in
      let line = bytes[start..<min(start + 16, bytes.count)]
      guard line.contains(where: { $0 != 0 }) else { return nil }
      let offset = String(start, radix: 16)
      let digits = line.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined(separator: " ")
      return String(repeating: "0", count: 4 - offset.count) + offset + "  " + digits
    }
  }

  @Test func `the worked example is what the journal writes`() throws {
    let page = try String(
      contentsOf: URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
        "../../docs/format-example.md"), encoding: .utf8)
    let shown = page.split(separator: "\n").map(String.init).filter {
      $0.wholeMatch(of: /[0-9a-f]{4}  [0-9a-f ]+/) != nil
    }
    let written = hex(try exampleSegment())
    #expect(shown == written, "it writes:\n\(written.joined(separator: "\n"))")
  }
}
