// What an export leaves out, and what a dump opens, with a password that opens some keys only, and after a
// key was shredded.
import Testing

@Suite struct ExportLossTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Two visits, one of them with notes; the password `support` opens the log only.
  private static let prelude = """
    printf 'open sesame\\n' >password; echo support >support; quick="--password-file password"
    notelog init visits --schema schema.json $quick --scrypt-log-n 14 2>/dev/null
    notelog add visits day=1 notes=private log=one $quick >/dev/null
    notelog add visits day=2 log=two $quick >/dev/null
    notelog key grant visits diagnostics $quick --yes --new-password-file support --scrypt-log-n 14 2>/dev/null
    export_all() {
      for format in csv sql jsonl; do
        notelog export $1 --as $format --password-file $2 >out 2>err; echo $format $?; cat err
        sed -E 's/[0-9a-f-]{36}/ID/; s/"revision":[0-9]*,//' out | tr -d '\\r' | sort
      done
    }

    """

  private func expect(_ script: String, _ out: String, _ location: SourceLocation = #_sourceLocation) throws {
    try bench.write(
      "schema.json",
      """
      {"collections": [{"name": "visit", "fields": [{"name": "day", "type": "integer"},
      {"name": "notes", "type": "text", "sealed": true, "key": "notes", "optional": true},
      {"name": "log", "type": "text", "sealed": true, "key": "diagnostics"}]}]}
      """)
    try bench.expect(Self.prelude + script, .init(out: out), location)
  }

  private static func export(
    _ said: String, _ code: Int, _ first: (csv: String, sql: String, jsonl: String),
    second: String = #""notes":null,"#
  ) -> String {
    """
    csv \(code)
    \(said)ID,1,\(first.csv),one
    ID,2,,two
    id,day,notes,log
    sql \(code)
    \(said)BEGIN;
    COMMIT;
    CREATE TABLE "visit" (id TEXT PRIMARY KEY, "day" INTEGER, "notes" TEXT, "log" TEXT);
    INSERT INTO "visit" VALUES ('ID', 1, \(first.sql), 'one');
    INSERT INTO "visit" VALUES ('ID', 2, NULL, 'two');
    jsonl \(code)
    \(said){"id":"ID","collection":"visit","fields":{"day":1,\(first.jsonl)"log":"one"}}
    {"id":"ID","collection":"visit","fields":{"day":2,\(second)"log":"two"}}

    """
  }

  /// The bug: the cells were as empty as those of records without a value, and it exited 0.
  @Test func `an export with a password that opens some keys only says what it leaves out`() throws {
    let said =
      "notelog: error: 1 value can't be opened: key 1 is not opened by the password or key that was given\n"
    try expect(
      "export_all visits password; export_all visits support",
      Self.export("", 0, ("private", "'private'", "\"notes\":\"private\","))
        + Self.export(said, 3, ("", "NULL", "")))
  }

  /// The bug: the same after a key was shredded, and where its effaceable file is missing.
  @Test func `an export after a key was shredded says what it leaves out`() throws {
    let script = """
      notelog init gone --empty $quick --scrypt-log-n 14 2>/dev/null
      notelog key add gone default --shreddable $quick 2>/dev/null
      printf '%s\\n' '{"day":1,"notes":"private","log":"one"}' '{"day":2,"log":"two"}' >visit.jsonl
      notelog import gone visit.jsonl --from jsonl --seal notes --yes $quick >/dev/null
      cp -r gone copy; rm copy/*.effaceable
      notelog key shred gone default $quick --yes >/dev/null 2>&1
      export_all copy password; export_all gone password
      """
    func export(_ why: String) -> String {
      // One of the two is the seal of none.
      Self.export("notelog: error: 2 values can't be opened: key 1 \(why)\n", 3, ("", "NULL", ""), second: "")
    }
    try expect(
      script,
      export("can't be had without its effaceable file, which backups leave out") + export("was shredded"))
  }

  /// The bug: dump left the fields sealed that `get` opened with the same password.
  @Test func `a dump opens what the password that was given opens, and without one nothing`() throws {
    let script = """
      for options in "--password-file support" ""; do notelog dump visits --json $options | sed 's/.*"fields"://' | sort; done
      """
    try expect(
      script,
      """
      {"day":1,"notes":{"sealed":48,"key":1},"log":"one"}}
      {"day":2,"notes":null,"log":"two"}}
      {"day":1,"notes":{"sealed":48,"key":1},"log":{"sealed":43,"key":2}}}
      {"day":2,"notes":null,"log":{"sealed":43,"key":2}}}

      """)
  }
}
