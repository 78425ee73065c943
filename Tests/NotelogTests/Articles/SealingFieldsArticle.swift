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

enum Protection: String, FieldValue, CaseIterable { case vault, pocket }

struct BankCard: Record {
  var id = RecordID()
  var bank = ""
  var protection = Protection.vault
  var number = ""
  static let schema = Schema<BankCard>("card") {
    Plain("bank", \.bank)
    Plain("protection", \.protection)
    Sealed("number", \.number).key(from: \.protection)
  }
}

@Suite struct SealingFieldsArticle {
  @Test func `a record that names its key opens as that key does`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    var printed: [[String]] = []
    func print(_ numbers: [String]) { printed.append(numbers) }
    try store.createKey("pocket", .afterFirstUnlock)
    try store.putAll([BankCard(bank: "B", protection: .pocket, number: "17")])
    store.lock()
    let open = try store.query(BankCard.self).where(\.protection, is: .pocket).entries()
    print(try open.map { try $0.number })
    #expect(printed == [["17"]])
    try store.unlock(TemporaryFolder.key)
    try store.putAll([BankCard(bank: "A", number: "16")])
    store.lock()
    #expect(throws: NotelogError(.locked, "")) {
      try store.query(BankCard.self).where(\.number, is: "16").entries()
    }
  }

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
