// Hints that can be followed: what they advise is not refused.
import Foundation
import Testing

@Suite struct HintTests {
  @Test func `nothing is advised that would be refused`() throws {
    let script = """
      mkdir held empty; touch held/photo.jpg
      for path in held empty missing none/of/it; do notelog list $path; done
      """
    let error = """
      notelog: error: there is no store at 'held'
      notelog: hint: the folder holds other things
      notelog: error: there is no store at 'empty'
      notelog: hint: 'notelog init empty' makes one
      notelog: error: there is no store at 'missing'
      notelog: hint: 'notelog init missing' makes one
      notelog: error: there is no store at 'none/of/it'
      notelog: hint: there is no folder 'FOLDER/none/of' either

      """
    let bench = try Workbench()
    let answer = try bench.run("notelog verify misspelt; " + script)
    let folder = bench.folder.resolvingSymlinksInPath().path
    #expect(
      answer.err.replacing(folder, with: "FOLDER")
        == "notelog: error: there is no store at 'misspelt'\n" + error)
  }

  @Test(.enabled(if: TransferTests.hasSQLite))
  func `a column of bytes and texts names the row, and a view is one`()
    throws
  {
    let script = """
      sqlite3 t.db "CREATE TABLE t (pic BLOB); INSERT INTO t VALUES (X'00'), (NULL), (''), (X'01'); CREATE VIEW v AS SELECT * FROM t"
      notelog import my.notelog t.db --from sqlite --table t --propose 2>&1 | tee said
      cp t.db copy.db; sqlite3 copy.db "$(sed -n 's/.*database: //p' said)"
      notelog import my.notelog copy.db --from sqlite --table t --propose
      notelog import my.notelog t.db --from sqlite --table v --propose 2>&1
      """
    let expected = """
      notelog: error: the column 'pic' holds bytes and other values: text in row 3
      notelog: hint: in a copy of the database: UPDATE "t" SET "pic" = CAST("pic" AS BLOB) WHERE typeof("pic") NOT IN ('blob', 'null')
      collection t, 4 rows
        pic  bytes, plain, optional; for instance AA==
      notelog: error: 'v' is a view, whose rows have no numbers of their own
      notelog: hint: make a table of it in a copy of the database: CREATE TABLE … AS SELECT * FROM …

      """
    try Workbench().expect(storePrelude + script, .init(2, out: expected))
  }
}
