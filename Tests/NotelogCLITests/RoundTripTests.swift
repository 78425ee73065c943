// Import, export and import again: what other programs made, and what the tool itself prints, comes back equal.
import Foundation
import Testing

@Suite struct RoundTripTests {
  /// Whether the programs are here that make the files.
  static let hasPrograms =
    TransferTests.hasSQLite && FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")

  let bench: Workbench

  init() throws { bench = try Workbench() }

  private func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.expect(storePrelude + Self.shown + script, expected, input: "", location)
  }

  /// All records of a store, without what no file says: revisions, and whether a field that has no value is
  /// there.
  private static let shown = #"""
    shown() { notelog export $1 --as jsonl $quick | sed 's/"revision":[0-9]*,//; s/"[a-z]*":null,//g; s/,"[a-z]*":null//g'; }

    """#

  private static let schema = """
    {"collections":[{"name":"all","fields":[{"name":"b","type":"boolean","optional":true},{"name":"i","type":"integer","optional":true},
      {"name":"u","type":"unsigned","optional":true},{"name":"d","type":"double","optional":true},{"name":"t","type":"text","optional":true},
      {"name":"y","type":"bytes","sealed":true,"optional":true},{"name":"w","type":"date","optional":true},
      {"name":"g","type":"uuid","optional":true},{"name":"l","type":"url","optional":true},{"name":"j","type":"json","optional":true},
      {"name":"id","type":"text"}]}]}
    """

  /// One record for each value that is near an edge, the last id first.
  private static let records: String = {
    let values = [
      #""b":true,"i":-9223372036854775808,"u":18446744073709551615,"d":0.1,"t":"","y":{"base64":""},"w":"2026-11-26T10:00:00.1234568Z""#
        + #","g":"d4e89130-4084-4ca1-9c80-1c0de5a40001","l":"https://example.org/a","j":{"json":"{\"a\": 1}"},"id":"x'\"; \r\n\u0000,""#,
      #""b":false,"i":9223372036854775807,"u":0,"d":{"double":"inf"},"t":"NULL","y":{"base64":"AP8="},"w":{"secondsSince2001":"1e+300"},"id":"2""#,
      #""d":{"double":"-inf"},"w":"0000-01-01T00:00:00Z","id":"""#, #""d":{"double":"nan"},"id":"3""#,
      #""d":5e-324,"t":"2026-11-26T10:00:00Z","id":"4""#,
      #""d":1e+16,"w":"2001-01-01T00:00:00.1Z","id":"d4e89130-4084-4ca1-9c80-1c0de5a40001""#,
    ]
    return values.enumerated().map { index, fields in
      "{\"id\":\"00000000-0000-4000-8000-00000000000\(9 - index)\",\"collection\":\"all\",\"fields\":{\(fields)}}\n"
    }.joined()
  }()

  @Test(.enabled(if: TransferTests.hasSQLite), arguments: ["csv", "sql", "jsonl"])
  func `an export of every type comes back equal, into a store with the schema and into one without`(
    kind: String
  ) throws {
    try bench.write("schema.json", Self.schema)
    try bench.write("all.jsonl", Self.records)
    // What CSV and JSON lines don't say, the command line does.
    let types =
      kind == "csv" ? "--type i=integer,u=unsigned,d=double,t=text,y=bytes,w=date,l=url,j=json,id=text" : ""
    let script = """
      notelog init s --schema schema.json $quick; notelog import s all.jsonl $quick; shown s >before; cut -c1-44 before
      notelog export s --as \(kind) $quick >all.\(kind); file=all.\(kind)
      if [ \(kind) = sql ]; then sqlite3 all.db <all.sql; file=all.db; fi
      back() { notelog import $1 $file $quick $2 >out; grep -c '^compared   6' out; shown $1 | cmp - before && echo same; }
      notelog init known --schema schema.json $quick; back known \(kind == "jsonl" ? "" : "--yes")
      if [ \(kind) != jsonl ]; then notelog init new --empty $quick; back new "--seal y --yes \(types)"; fi
      notelog import s $file $quick \(kind == "jsonl" ? "" : "--yes") | grep imported; shown s | cmp - before && echo same
      """
    let ids = (4...9).map { "{\"id\":\"00000000-0000-4000-8000-00000000000\($0)\"\n" }.joined()
    let back = (kind == "jsonl" ? "0\n" : "1\n") + "same\n"
    let again = (kind == "jsonl" ? "" : "imported   0 records, 6 were there\n") + "same\n"
    try expect(script, .init(out: ids + back + (kind == "jsonl" ? "" : back) + again))
  }

  private static let coreData = """
    import sqlite3, uuid
    c = sqlite3.connect("core.db")
    c.executescript('''
    CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
    INSERT INTO Z_PRIMARYKEY VALUES (1,'Folder',0,2), (2,'Item',0,9), (3,'Note',2,0), (4,'Picture',2,0), (5,'Tag',0,2);
    CREATE TABLE Z_METADATA (Z_VERSION INTEGER PRIMARY KEY, Z_UUID VARCHAR(255), Z_PLIST BLOB);
    CREATE TABLE Z_MODELCACHE (Z_CONTENT BLOB);
    CREATE TABLE ATRANSACTION (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER);
    CREATE TABLE ZFOLDER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZPARENT INTEGER, ZNAME VARCHAR);
    INSERT INTO ZFOLDER VALUES (1,1,1,2,'Work'), (2,1,3,NULL,'Home');
    CREATE TABLE ZITEM (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZFOLDER INTEGER, ZSTARS INTEGER, ZCREATED TIMESTAMP,
      ZUID BLOB, ZTITLE VARCHAR, ZPASSWORD VARCHAR, ZPIXELS BLOB);
    CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, Z_OPT INTEGER, ZITEM INTEGER, ZLABEL VARCHAR);
    INSERT INTO ZTAG VALUES (1,5,1,2,'red'), (2,5,1,1,'blue');
    CREATE TABLE Z_3TAGS (Z_3NOTES INTEGER, Z_5TAGS INTEGER, PRIMARY KEY (Z_3NOTES, Z_5TAGS));
    INSERT INTO Z_3TAGS VALUES (1,1), (3,2);
    ''')
    c.executemany("INSERT INTO ZITEM VALUES (?,?,?,?,?,?,?,?,?,?)", [
      (1,3,1,2,5,700000000.5,uuid.UUID(int=1).bytes,'One','hunter2',None),
      (2,4,1,1,None,1.25,uuid.UUID(int=2).bytes,None,None,b'\\x00\\xff'), (3,3,2,None,0,-1e9,uuid.UUID(int=3).bytes,'',None,None)])
    c.commit()

    """

  @Test(.enabled(if: hasPrograms))
  func `entities of Core Data are told apart, and refer to each other's records, also when they come back`()
    throws
  {
    try bench.write("core.py", Self.coreData)
    let script = #"""
      notelog init core --empty $quick; python3 core.py; import="notelog import core core.db --type parent=Folder,ZUID=uuid --seal title --yes $quick"
      $import 2>said | grep -v left.out; cat said
      short() { sed 's/"revision":[0-9]*,//; s/-0000-0000-0000-/-/g'; }
      for c in Folder Note Picture Tag Note_tags; do notelog export core $c --as jsonl $quick | short; done
      $import 2>/dev/null | grep imported
      notelog export core --as sql $quick >core.sql; sqlite3 new.db <core.sql; grep -o 'REFERENCES.*' core.sql
      notelog init new --empty $quick; notelog import new new.db --seal title,password --yes $quick >/dev/null
      notelog export new --as sql $quick >new.sql; grep -v CREATE core.sql | sort >a; grep -v CREATE new.sql | sort | cmp - a && echo same
      home=$(notelog export new Folder --as csv $quick | sed -n 's/,,Home.*//p')
      notelog remove new $home $quick 2>&1 | short
      work=$(notelog export new Folder --as csv $quick | sed -n 's/,.*Work.*//p')
      notelog remove new $work $quick >/dev/null && notelog export new Picture --as csv $quick | cut -d, -f2,5- | tr -d '\r'
      """#
    let marks = marks(of: ["ZFOLDER", "ZITEM", "ZTAG", "Z_3TAGS"])
    func id(_ table: String, _ row: Int) -> String {
      let mark = marks[table] ?? ""
      return "\"\(mark.prefix(3))0\(row)000-\(mark.suffix(12))\""
    }
    let expected = """
      collection Folder, 2 rows
        parent  uuid, plain, optional, refers to Folder
        name    text, plain
      collection Note, 2 rows
        folder    uuid, plain, optional, refers to Folder
        stars     integer, plain
        created   date, plain
        uid       uuid, plain
        title     text, sealed
        password  text, sealed, optional, named like a secret
      collection Picture, 1 row
        folder   uuid, plain, optional, refers to Folder
        created  date, plain
        uid      uuid, plain
        pixels   bytes, plain
      collection Tag, 2 rows
        item   uuid, plain, optional
        label  text, plain
      collection Note_tags, 2 rows
        notes  uuid, plain, optional, refers to Note
        tags   uuid, plain, optional, refers to Tag
      imported   2 records of Folder
      imported   2 records of Note
      imported   1 record of Picture
      imported   2 records of Tag
      imported   2 records of Note_tags
      compared   2 rows and as many records of Folder: all the same
      compared   2 rows and as many records of Note: all the same
      compared   1 row and as many records of Picture: all the same
      compared   2 rows and as many records of Tag: all the same
      compared   2 rows and as many records of Note_tags: all the same
      notelog: note: sealed, as named like secrets: password; --plain A,B says what stays in the clear
      {"id":\(id("ZFOLDER", 1)),"collection":"Folder","fields":{"parent":\(id("ZFOLDER", 2)),"name":"Work"}}
      {"id":\(id("ZFOLDER", 2)),"collection":"Folder","fields":{"parent":null,"name":"Home"}}
      {"id":\(id("ZITEM", 1)),"collection":"Note","fields":{"folder":\(id("ZFOLDER", 2)),"stars":5,"created":"2023-03-08T20:26:40.5Z","uid":"00000000-000000000001","title":"One","password":"hunter2"}}
      {"id":\(id("ZITEM", 3)),"collection":"Note","fields":{"folder":null,"stars":0,"created":"1969-04-24T22:13:20Z","uid":"00000000-000000000003","title":"","password":null}}
      {"id":\(id("ZITEM", 2)),"collection":"Picture","fields":{"folder":\(id("ZFOLDER", 1)),"created":"2001-01-01T00:00:01.25Z","uid":"00000000-000000000002","pixels":{"base64":"AP8="}}}
      {"id":\(id("ZTAG", 1)),"collection":"Tag","fields":{"item":\(id("ZITEM", 2)),"label":"red"}}
      {"id":\(id("ZTAG", 2)),"collection":"Tag","fields":{"item":\(id("ZITEM", 1)),"label":"blue"}}
      {"id":\(id("Z_3TAGS", 1)),"collection":"Note_tags","fields":{"notes":\(id("ZITEM", 1)),"tags":\(id("ZTAG", 1))}}
      {"id":\(id("Z_3TAGS", 2)),"collection":"Note_tags","fields":{"notes":\(id("ZITEM", 3)),"tags":\(id("ZTAG", 2))}}
      imported   0 records of Folder, 2 were there
      imported   0 records of Note, 2 were there
      imported   0 records of Picture, 1 were there
      imported   0 records of Tag, 2 were there
      imported   0 records of Note_tags, 2 were there

      """
    let answer = try bench.run(storePrelude + script, input: "")
    #expect(answer.out.hasPrefix(expected), "\(answer.out)\(answer.err)")
    let rest = answer.out.dropFirst(expected.count)
    #expect(
      rest.hasPrefix(
        """
        REFERENCES "Folder" ON DELETE RESTRICT, "name" TEXT);
        REFERENCES "Folder" ON DELETE SET NULL, "stars" INTEGER, "created" DATE TEXT, "uid" UUID TEXT, "title" TEXT, "password" TEXT);
        REFERENCES "Folder" ON DELETE SET NULL, "created" DATE TEXT, "uid" UUID TEXT, "pixels" BLOB);
        REFERENCES "Note" ON DELETE SET NULL, "tags" UUID TEXT REFERENCES "Tag" ON DELETE SET NULL);
        """), "\(rest)")
    // The folder above refuses to go, as the command line made it; that of Core Data lets go.
    #expect(rest.contains("same\nnotelog: error: nothing was removed: Folder.parent of record"), "\(rest)")
    #expect(rest.hasSuffix("folder,pixels\n,AP8=\n"), "\(rest)\(answer.err)")
  }

  /// What tells the ids of tables' rows from those of others, which no store changes.
  private func marks(of tables: [String]) -> [String: String] {
    Dictionary(
      uniqueKeysWithValues: tables.map { table in
        let hash: UInt64 = ("sqlite " + table).utf8.reduce(0xCBF2_9CE4_8422_2325) {
          ($0 ^ UInt64($1)) &* 0x100_0000_01B3
        }
        return (table, String(hash | 1 << 63, radix: 16))
      })
  }

  @Test(.enabled(if: TransferTests.hasSQLite)) func `foreign keys become references, with their rules`()
    throws
  {
    // What an import leaves that was killed before its end: the fields are there, and no rule.
    try bench.write(
      "half.json",
      """
      {"collections":[{"name":"customer","fields":[{"name":"nr","type":"integer"},{"name":"name","type":"text"},
        {"name":"friend","type":"uuid","indexed":true,"optional":true}]},{"name":"orders","fields":[
        {"name":"customer","type":"uuid","indexed":true},{"name":"code","type":"text"},{"name":"total","type":"double"}]}]}
      """)
    let script = """
      sqlite3 shop.db <<'SQL'
      CREATE TABLE customer (nr INTEGER PRIMARY KEY, name TEXT, friend INTEGER REFERENCES customer ON DELETE SET NULL);
      CREATE TABLE orders (customer INTEGER NOT NULL REFERENCES customer (nr) ON DELETE CASCADE, code TEXT REFERENCES customer (name), total REAL);
      INSERT INTO customer VALUES (7, 'Ada', NULL), (9, 'Eve', 7); INSERT INTO orders VALUES (7, 'Ada', 1.5), (9, 'Eve', 2);
      SQL
      notelog import my.notelog shop.db --table orders --propose | head -n 2 | tail -n 1
      notelog import my.notelog shop.db --plain nr,name,friend,customer,code,total --yes $quick | sed -n '/^  /p'
      notelog init half --schema half.json $quick; notelog import half shop.db --yes $quick | grep -o 'refers.*'
      for store in my.notelog half; do
        ada=$(notelog export $store customer --as csv $quick | sed -n 's/,7,Ada,.*//p')
        notelog remove $store $ada $quick >/dev/null
        notelog export $store customer --as csv $quick | cut -d, -f2- | tr -d '\\r'
        notelog export $store orders --as csv $quick | cut -d, -f3- | tr -d '\\r'
      done
      notelog import my.notelog shop.db --yes $quick 2>&1 | grep -o "'.*differs"
      """
    let left = "nr,name,friend\n9,Eve,\ncode,total\nEve,2.0\n"
    let expected = """
        customer  integer, plain; for instance 7
        nr      integer, plain
        name    text, plain
        friend  uuid, plain, optional, refers to customer
        customer  uuid, plain, refers to customer
        code      text, plain
        total     double, plain
      refers to customer
      refers to customer
      \(left)\(left)\
      'friend' of row 9 differs

      """
    try expect(script, .init(out: expected))
  }

  /// The bug: one of them made all of its column numbers, without a word; what --type named was not looked up.
  @Test(.enabled(if: TransferTests.hasSQLite))
  func `what refers to a row that is not there is named and refused, or imported as none`() throws {
    let script = #"""
      sqlite3 core.db <<'SQL'
      CREATE TABLE Z_PRIMARYKEY (Z_ENT INTEGER PRIMARY KEY, Z_NAME VARCHAR, Z_SUPER INTEGER, Z_MAX INTEGER);
      INSERT INTO Z_PRIMARYKEY VALUES (1,'Folder',0,2), (2,'Note',0,3), (3,'Tag',0,1);
      CREATE TABLE ZFOLDER (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR); INSERT INTO ZFOLDER VALUES (1,1,'Work'), (2,1,'Home');
      CREATE TABLE ZTAG (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZNAME VARCHAR); INSERT INTO ZTAG VALUES (1,3,'red');
      CREATE TABLE ZNOTE (Z_PK INTEGER PRIMARY KEY, Z_ENT INTEGER, ZFOLDER INTEGER, ZTAG INTEGER);
      INSERT INTO ZNOTE VALUES (1,2,1,1), (2,2,99,70), (3,2,2,80);
      CREATE TABLE Z_2TAGS (Z_2NOTES INTEGER, Z_3TAGS INTEGER); INSERT INTO Z_2TAGS VALUES (4,7);
      SQL
      import="notelog import my.notelog core.db --plain name,folder,tag,notes,tags --yes $quick"
      $import | grep ' folder\|  tag '; notelog info my.notelog | grep -c ^collection
      $import --clear-dangling | grep 'all the same' | wc -l; $import --clear-dangling 2>/dev/null | grep ', 3 were there'
      notelog list my.notelog Note --tsv -f folder -f tag --sort tag | sed 's/^[^\t]*//; s/[0-9a-f-]\{36\}/ID/'
      notelog import other core.db --type folder=integer,notes=integer,tags=integer --plain name,folder,tag,notes,tags --propose | grep ' folder'
      printf 'owner\n5a1ba6e0-0000-4000-8000-000000000001\n' >t.csv
      notelog import my.notelog t.csv --plain owner --type owner=Folder --yes $quick >/dev/null; echo $?
      notelog import my.notelog t.csv --seal owner --type owner=Folder --yes $quick >/dev/null; echo $?
      """#
    let out = """
        folder  uuid, plain, optional, refers to Folder
        tag     integer, plain
      1
      4
      imported   0 records of Note, 3 were there
      \tID\t1
      \t\t70
      \tID\t80
        folder  integer, plain; for instance 1
      2
      2

      """
    func named(_ hint: String) -> String {
      """
      notelog: dangling: Note, row 2, column 'folder': '99' is not there
      notelog: dangling: Note_tags, row 1, column 'notes': '4' is not there
      notelog: dangling: Note_tags, row 1, column 'tags': '7' is not there
      \(hint)

      """
    }
    let hint =
      "notelog: hint: --clear-dangling imports them as none; --type COLUMN=TYPE takes the column as no reference\n"
    let refused = "notelog: error: 1 reference leads nowhere: nothing was imported\n" + hint
    let err =
      named("notelog: error: 3 references lead nowhere: nothing was imported") + hint
      + named("notelog: note: 3 references lead nowhere: without a value now")
      + "notelog: dangling: t, row 1, column 'owner': '5a1ba6e0-0000-4000-8000-000000000001' is not there\n"
      + refused + "notelog: dangling: t, row 1, column 'owner': it is not there\n" + refused
    try expect(script, .init(out: out, err: err))
  }

  /// The bug: some doubles lost their last digit on their way out of SQLite, and the comparison, which read
  /// them the same way again, found nothing.
  @Test(.enabled(if: hasPrograms)) func `every double of a database comes back to the last bit`() throws {
    let script = """
      cat >make.py <<'END'
      import sqlite3, struct, random
      random.seed(52); values = [1.5846027670753125e+209, -1.0365352337907351e+136, 5e-324, 1.7976931348623157e308, 0.1]
      values += [struct.unpack('d', struct.pack('Q', random.getrandbits(64)))[0] for _ in range(4000)]
      values = [value for value in values if value == value and abs(value) != float('inf')]
      c = sqlite3.connect('d.db'); c.execute('CREATE TABLE t (a REAL)'); c.executemany('INSERT INTO t VALUES (?)', [(v,) for v in values]); c.commit()
      open('want', 'w').write(''.join(repr(value) + '\\n' for value in values))
      END
      python3 make.py; notelog import my.notelog d.db --plain a --yes $quick | tail -n 1 | sed 's/.*: //'
      notelog export my.notelog t --as csv $quick | python3 -c "import sys; print(*[repr(float(l.split(',')[1])) for l in list(sys.stdin)[1:]], sep='\\n')" | cmp - want && echo same
      """
    try expect(script, .init(out: "all the same\nsame\n"))
  }

  @Test func `what comes from a pipe is told by its content, and a given id is the record's`() throws {
    let id = "5a1ba6e0-0000-4000-8000-00000000000"
    try bench.write(
      "a.csv", "id,day,name\n\(id)2,2026-11-26T10:00:00Z,Eve\n\(id)1,2001-01-01T00:00:00Z,Ada\n")
    let script = #"""
      cat a.csv | notelog import my.notelog --into a --plain day,name --yes $quick; mkfifo pipe
      cat a.csv >pipe & notelog import my.notelog pipe --into a --yes $quick | grep imported
      echo '{"when":"2026-11-26T10:00:00Z","n":"x"}' | notelog import my.notelog - --into b --type when=text --propose
      notelog export my.notelog a --as jsonl $quick | notelog import my.notelog $quick && shown my.notelog
      { echo 'id,name'; grep -o '^5.*1,' a.csv | sed 's/$/Bob/'; } | notelog import my.notelog --into a --yes $quick >/dev/null; echo $?
      { cat a.csv; grep Ada a.csv; } | sed 's/^5a/5b/' >twice.csv; notelog import my.notelog twice.csv --plain day,name --yes $quick >/dev/null; echo $?
      notelog import my.notelog a.csv --into c --plain day,name --yes $quick >/dev/null; echo $?
      sed '1s/id/key/' a.csv >key.csv; notelog import my.notelog key.csv --propose; notelog import my.notelog a.csv --into c --type id=text --propose
      notelog info my.notelog | grep -c '^collection'
      """#
    func record(_ number: Int, _ fields: String) -> String {
      "{\"id\":\"\(id)\(number)\",\"collection\":\"a\",\"fields\":{\(fields)}}\n"
    }
    let out =
      "collection a, 2 rows\n  day   date, plain\n  name  text, plain\n  the records keep their ids\n"
      + "imported   2 records\ncompared   2 rows and as many records: all the same\nimported   0 records, 2 were there\n"
      + "collection b, 1 row\n  when  text, plain; for instance 2026-11-26T10:00:00Z\n  n     text, plain; for instance x\n"
      + record(1, #""day":"2001-01-01T00:00:00Z","name":"Ada""#)
      + record(2, #""day":"2026-11-26T10:00:00Z","name":"Eve""#) + "2\n2\n2\n"
      + "collection key, 2 rows\n  key   uuid, plain; for instance \(id)2\n"
      + "  day   date, plain; for instance 2026-11-26T10:00:00Z\n  name  text, plain; for instance Eve\n"
      + "collection c, 2 rows\n  id    text, plain; for instance \(id)2\n"
      + "  day   date, plain; for instance 2026-11-26T10:00:00Z\n  name  text, plain; for instance Eve\n2\n"
    let err = """
      notelog: error: 'day' is not optional, and there is no column of that name
      notelog: error: the id of row 3 is that of a row before it; nothing was imported
      notelog: error: the id of row 1 is that of a record of 'a'; nothing was imported

      """
    try expect(script, .init(out: out, err: err))
  }

  @Test func `--type says what columns are, and what it can't say is refused`() throws {
    let script = #"""
      printf 'name,day,n,owner\nAda,2001-01-02,5,5a1ba6e0-0000-4000-8000-000000000001\n' >t.csv
      type="notelog import my.notelog t.csv --plain name,day,n,owner --type"
      echo '{"id":"5a1ba6e0-0000-4000-8000-000000000001","fields":{}}' >note; notelog import my.notelog note $quick
      $type day=date,n=unsigned,owner=note --yes $quick; notelog export my.notelog t --as jsonl $quick | sed 's/.*"fields"://'
      for types in day=dat name=date dya=date day owner=t; do $type $types --into u --yes $quick >/dev/null; echo $?; done
      $type n=text --yes $quick; echo $?; notelog info my.notelog | grep -c '^collection'
      """#
    let out = """
      collection t, 1 row
        name   text, plain
        day    date, plain
        n      unsigned, plain
        owner  uuid, plain, refers to note
      imported   1 record
      compared   1 row and as many records: all the same
      {"name":"Ada","day":"2001-01-02T00:00:00Z","n":5,"owner":"5a1ba6e0-0000-4000-8000-000000000001"}}
      2
      2
      2
      64
      2
      2
      2

      """
    let err = """
      notelog: error: there is no type and no collection 'dat'
      notelog: hint: did you mean 'date'?
      notelog: error: row 1, column 'name': 'Ada' is not a date value
      notelog: error: there is no column 'dya'
      notelog: hint: did you mean 'day'?
      notelog: error: --type takes COLUMN=TYPE, not 'day'
      notelog: dangling: u, row 1, column 'owner': '5a1ba6e0-0000-4000-8000-000000000001' is not there
      notelog: error: 1 reference leads nowhere: nothing was imported
      notelog: hint: --clear-dangling imports them as none; --type COLUMN=TYPE takes the column as no reference
      notelog: error: 'n' of the collection 't', which is there, is unsigned, not text
      notelog: hint: --into another collection, or without --type for n

      """
    try expect(script, .init(out: out, err: err))
  }

  @Test(arguments: [
    "pin", "userPin", "PIN_2", "login password", "apiKey", "Secret", "access_token", "passwd", "cvv",
  ])
  func `a column that is named like a secret is proposed sealed, and its values are not shown`(name: String)
    throws
  {
    let script = """
      printf 'name,spin,\(name)\\nAda,1,hunter2\\n' >t.csv; notelog import my.notelog t.csv $quick
      notelog import my.notelog t.csv --into u --seal name --yes $quick >/dev/null
      notelog import my.notelog t.csv --into v --plain 'name,spin,\(name)' --yes $quick | grep -c sealed
      echo ended
      """
    let terminal = try PseudoTerminal(storePrelude + script, in: bench)
    try terminal.awaitText("take it? [y/N] ")
    try terminal.type("y\n")
    try terminal.awaitText("ended")
    #expect(terminal.finish() == 0)
    #expect(!terminal.shown.contains("hunter2") && terminal.shown.contains("spin"))
    #expect(terminal.shown.contains("text, sealed, named like a secret\r\n"))
    #expect(terminal.shown.contains("note: sealed, as named like secrets: \(name); --plain A,B says"))
    let info = try bench.run("notelog info my.notelog | grep '^collection'").out
    #expect(info.split(separator: "\n").count == 4)
    #expect(info.contains("\(name) (text, sealed") && info.contains("\(name) (text, plain)"), "\(info)")
  }
}
