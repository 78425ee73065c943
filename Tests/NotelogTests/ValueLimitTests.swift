// Every limit on a value at its edges: what is accepted reads back equal, in every form that a value can be
// stored in.

import Foundation
@testable import Notelog
import Testing

@Suite struct ValueLimitTests {
  /// A form that a field's values are stored in, and the longest value that fits into it.
  struct Form: CustomTestStringConvertible, Sendable {
    let field: FieldDescription
    let most: Int

    var testDescription: String { field.name }

    init(_ name: String, _ field: FieldDescription, most: Int) {
      var field = field
      field.name = name
      self.field = field
      self.most = most
    }
  }

  /// The header of a record with one field, and that field's line in the directory.
  private static let directory = 4 + 12

  static let forms = [
    Form("plain", .plain("", .bytes), most: Limits.recordBytes - directory),
    Form("plain, optional", .plain("", .bytes, optional: true), most: Limits.recordBytes - directory - 1),
    Form("sealed", .sealed("", .bytes), most: Limits.recordBytes),
    // A presence byte counts.
    Form("sealed, optional", .sealed("", .bytes, optional: true), most: Limits.recordBytes - 1),
    // So does the mark behind which the zeros begin.
    Form("padded", .sealed("", .bytes, padded: true), most: Limits.recordBytes - 1),
    Form("padded, optional", .sealed("", .bytes, padded: true, optional: true), most: Limits.recordBytes - 2),
    Form("compressed", .sealed("", .bytes, compressed: true), most: Limits.recordBytes),
    Form(
      "compressed, optional", .sealed("", .bytes, compressed: true, optional: true),
      most: Limits.recordBytes - 1),
  ]

  /// The bug: a compressed value was measured after it was compressed, and its presence byte when it was
  /// inflated: one of 16,777,216 bytes was accepted, and could not be read again.
  @Test(arguments: forms)
  func `the longest value of a form reads back equal, and a byte more is refused when it is written`(
    form: Form
  ) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let collection = try store.createCollection("value", fields: [form.field])
    for excess in [-1, 0, 1] {
      let value = DynamicValue.bytes([UInt8](repeating: 7, count: form.most + excess))
      let id = RecordID()
      let put = {
        _ = try store.write(.buffered) { tx in try tx.put(in: collection, id, [form.field.name: value]) }
      }
      if excess > 0 {
        #expect(throws: NotelogError(.limitExceeded, "")) { try put() }
        continue
      }
      try put()
      let entry = try #require(try collection.get(id))
      let back = try entry.value(form.field.name)
      #expect(back == value, "\(excess)")
    }
    #expect(try collection.count == 2)
  }

  /// The lengths at which a sealed value leaves its record, or takes one chunk more.
  @Test(arguments: forms)
  func `values around a chunk's length read back equal, whole and by their last bytes`(form: Form) throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let collection = try store.createCollection("value", fields: [form.field])
    for length in [65_533, 65_534, 65_535, 65_536, 65_537, 131_071, 131_072, 131_073] {
      let bytes = noise(length)
      let id = try collection.add([form.field.name: .bytes(bytes)])
      let entry = try #require(try collection.get(id))
      #expect(try entry.value(form.field.name) == .bytes(bytes), "\(length)")
      let content = try #require(try entry.content(of: form.field.name))
      #expect(content.byteCount == length)
      #expect(try content.read(length - 3..<length + 3) == Array(bytes.suffix(3)))
    }
  }
}
