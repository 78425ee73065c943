// The examples of the article "Sealing fields", line for line.

import Foundation
import Notelog
import Testing

struct Patient: Record {
  var id = RecordID()
  var visit = Date()
  var name = ""
  var history = ""
  var image = Data()
  static let schema = Schema<Patient>("patient") {
    Plain("visit", \.visit, indexed: true)
    Sealed("name", \.name, padded: true)
    Sealed("history", \.history, compressed: true)
    Sealed("image", \.image, key: "images")
  }
}

@Suite struct SealingFieldsArticle {
  @Test func `the article's examples do what it says`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    let patient = Patient(name: "Ada", history: "long")
    let id = patient.id
    try store.write { tx in try tx.put(patient) }
    let entry = try store.get(Patient.self, id)
    let name = try entry?.name
    #expect(name == "Ada" && store.metrics.fieldsOpened == 1)

    let bytes = Data((0..<200_000).map { UInt8(truncatingIfNeeded: $0 &* 7) })
    try bytes.write(to: URL(filePath: folder.path + "/image"))
    let file = try FileHandle(forReadingFrom: URL(filePath: folder.path + "/image"))
    var shown = Data()
    func show(_ piece: [UInt8], after header: [UInt8]) {
      #expect(header.count == 16)
      shown += piece
    }
    let scan = try store.upload(to: \Patient.image, of: id, from: file)
    try store.write { tx in try tx.update(Patient.self, id) { $0.set(\.image, scan) } }
    if let content = try store.get(Patient.self, id)?.content(of: \.image) {
      let header = try content.read(0..<16)
      try content.forEachPiece { piece in show(piece, after: header) }
    }
    #expect(shown == bytes)
  }
}
