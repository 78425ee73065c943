// The examples of the article "From Core Data", line for line, on what its commands have imported.
import Foundation
import Notelog
import Testing

enum FromCoreDataArticle {
  enum OldTransformer {
    static func text(of sealed: [UInt8]) throws -> String {
      String(decoding: sealed.map { $0 ^ 0x20 }, as: UTF8.self)
    }
  }

  struct Colour: FieldValue {
    var red: UInt8 = 0
    var green: UInt8 = 0
    var blue: UInt8 = 0
    var stored: [UInt8] { [red, green, blue] }
    init(stored: [UInt8]) throws {
      guard stored.count == 3 else { throw NotelogError(.typeMismatch, "a colour has three bytes") }
      (red, green, blue) = (stored[0], stored[1], stored[2])
    }
    init() {}
  }

  struct Patient: Record {
    var id = RecordID()
    var name = ""
    static let schema = Schema<Patient>("Patient") { Sealed("name", \.name) }
  }

  struct Visit: Record {
    var id = RecordID()
    var time = Date()
    var isPaid = false
    var findings = ""
    var patient: RecordID?
    static let schema = Schema<Visit>("Visit") {
      Plain("time", \.time, indexed: true)
      Plain("paid", \.isPaid)
      Sealed("findingsText", \.findings, padded: true)
      Plain("patient", \.patient, indexed: true).referring(to: Patient.self, whenDeleted: .nullify)
      Migrated("findings") { old, visit in
        if case .bytes(let sealed) = try old.value("findings") {
          visit.set(\.findings, try OldTransformer.text(of: sealed))
        }
      }
    }
  }

  /// A database as Core Data makes it: three visits of two patients, one of nobody's; findings are sealed by
  /// an old transformer.
  static let run = PageRun(
    needs: ["sqlite3"],
    setup: """
      sqlite3 Clinic.sqlite >made <<'SQL'
      PRAGMA journal_mode = WAL;
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (1, 'Patient', 0, 2), (2, 'Visit', 0, 3);
      CREATE TABLE ZPATIENT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZNAME VARCHAR);
      INSERT INTO ZPATIENT VALUES (3, 1, 1, 'Ada'), (7, 1, 1, 'Lewis');
      CREATE TABLE ZVISIT (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPAID INTEGER, ZPATIENT INTEGER, ZTIME TIMESTAMP, ZFINDINGS BLOB);
      INSERT INTO ZVISIT VALUES (1, 2, 1, 1, 7, 700000000, X'57454C4C'), (2, 2, 4, 0, 3, 700003600.5, X'494C4C'), (3, 2, 1, 0, NULL, 700000001, X'');
      SQL
      """,
    check: { bench, shown in
      #expect(shown.contains("time      date, plain") && shown.contains("optional, refers to Patient"))
      #expect(!FileManager.default.fileExists(atPath: bench.folder.appending(path: "whole.sqlite").path))
      let path = bench.folder.appending(path: "clinic.notelog").path
      let store = try opened(at: path, password: "open sesame")
      #expect(try unpaid(in: store).map { try $0.findings } == ["ill", ""])
      let visits = try store.query(Visit.self).sorted(by: \.time).entries()
      #expect(try visits.map { try $0.time.timeIntervalSinceReferenceDate } == [7e8, 7e8 + 1, 7e8 + 3600.5])
      let names = try visits.map { visit in
        try visit.patient.map { try store.get(Patient.self, $0)?.name } ?? nil
      }
      #expect(names == ["Lewis", nil, "Ada"])
      try store.close()
    })

  private static func opened(at path: String, password: String) throws -> Store {
    var options = Store.Options()
    options.recordTypes = [Patient.self, Visit.self]
    let store = try Store.open(at: path, unlocking: .password(password), options: options)
    try store.migrate(Visit.self)
    return store
  }

  private static func unpaid(in store: Store) throws -> [Entry<Visit>] {
    let unpaid = try store.query(Visit.self)
      .where(\.isPaid, is: false)
      .sorted(by: \.time, .descending)
      .limit(50)
      .entries()
    return unpaid
  }
}
