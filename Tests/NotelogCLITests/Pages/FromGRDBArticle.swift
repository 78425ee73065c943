// The examples of the article "From GRDB and SQLCipher", line for line, on what its commands have imported.
import Foundation
import Notelog
import Testing

let sqliteDates = Date.ISO8601FormatStyle(
  dateTimeSeparator: .space, includingFractionalSeconds: true, timeZone: .gmt
).year().month().day().time(includingFractionalSeconds: true)

enum FromGRDBArticle {
  struct Letter: Record {
    var id = RecordID()
    var received = Date(timeIntervalSinceReferenceDate: 0)
    var sender = ""
    var text = ""
    static let schema = Schema<Letter>("letter") {
      Plain("receivedAt", \.received, indexed: true)
      Plain("sender", \.sender, indexed: true)
      Sealed("text", \.text)
      Kept("id")
      Migrated("received") { old, letter in
        // "2026-11-25 10:43:47.500", in UTC
        if case .text(let text) = try old.value("received") {
          letter.set(\.received, try Date(text, strategy: sqliteDates))
        }
      }
    }
  }

  /// A database of SQLCipher, as GRDB fills it: three letters.
  static let run = PageRun(
    needs: ["sqlite3", "sqlcipher"],
    setup: """
      echo 'the old passphrase' >passphrase
      sqlcipher letters.db >made <<'SQL'
      PRAGMA key = 'the old passphrase';
      CREATE TABLE letter (id INTEGER PRIMARY KEY, received DATETIME NOT NULL, sender TEXT NOT NULL, text TEXT NOT NULL);
      INSERT INTO letter VALUES (1, '2026-11-25 10:43:47.500', 'Lewis', 'A snark'), (2, '2026-11-24 09:00:00.000', 'Lewis', 'A boojum'),
        (5, '2026-11-25 12:00:00.000', 'Ada', 'An engine');
      SQL
      """,
    after: """
      ls -d "$plain" 2>gone && exit 1
      sqlite3 letters-again.db "SELECT text FROM letter WHERE sender = 'Ada'"
      """,
    check: { bench, shown in
      #expect(shown.contains("received  text, plain") && shown.contains("An engine\r\nall done"))
      let store = try openedStore("letters.notelog", in: bench, [Letter.self])
      let letters = try lewis(in: store)
      #expect(try letters.map { try $0.text } == ["A snark", "A boojum"])
      #expect(try letters.first?.received == Date(timeIntervalSince1970: 1_795_603_427.5))
      try store.close()
    })

  private static func lewis(in store: Store) throws -> [Entry<Letter>] {
    try store.migrate(Letter.self)
    let letters = try store.query(Letter.self)
      .where(\.sender, is: "Lewis")
      .sorted(by: \.received, .descending)
      .limit(50)
      .entries()
    return letters
  }
}
