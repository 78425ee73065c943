// What a script has to say before something is stored: which columns may be in the clear, and each field that
// is not optional.
import Foundation
import Testing

@Suite struct RequiredFieldTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// The bug: who took a collection's schema away, without any key, had the next import of a script make it
  /// anew, all in the clear.
  @Test func `a script makes a collection only where it says what is sealed or what is plain`() throws {
    let script = """
      printf 'name,pin\\nAda,1234\\n' >t.csv
      import() { notelog import my.notelog t.csv --from csv --yes $quick "$@" >out; echo $?; sed -n '2,3s/,.*sealed/ sealed/p; 2,3s/,.*plain/ plain/p' out; }
      import --into a; import --into a --seal ''; notelog info my.notelog | grep -c '^collection'
      import --into b --seal pin; import --into c --plain name; import --into d --plain ''; import --into e --plain name,pin
      import --into f --seal pin --plain name; import --into g --seal name --plain name; import --into h --plain nam
      import --into b
      """
    let untold = """
      notelog: error: there is no collection 'a', and --yes does not say what may be in the clear in a new one
      notelog: hint: --plain A,B leaves these columns in the clear and seals the others; --seal A,B seals these only

      """
    let (plain, sealed) = ("  name  text plain\n", "  pin   integer sealed\n")
    let half = "0\n" + plain + sealed
    let out =
      "64\n64\n1\n" + half + half + "0\n  name  text sealed\n" + sealed + "0\n" + plain
      + "  pin   integer plain\n"
      + half + "64\n2\n" + half
    let err = """
      notelog: error: the column 'name' is named by --plain and by --seal
      notelog: error: there is no column 'nam'
      notelog: hint: did you mean 'name'?

      """
    try bench.expect(storePrelude + script, .init(out: out, err: untold + untold + err))
  }

  /// The bug: `add` took a record without it.
  @Test func `add and import refuse a record without a field that is not optional`() throws {
    try bench.write(
      "s.json",
      """
      {"collections":[{"name":"person","fields":[{"name":"name","type":"text"},{"name":"born","type":"date"},
      {"name":"count","type":"integer"},{"name":"pin","type":"bytes","sealed":true},{"name":"note","type":"text","optional":true}]}]}
      """)
    let script = """
      notelog init s --schema s.json $quick --scrypt-log-n 14 2>/dev/null
      notelog add s name=Ada $quick; echo $?; notelog add s name=Ada count=1 $quick; echo $?
      notelog add s count=1 pin=x $quick >id; echo $?; notelog get s $(cat id) born $quick | cut -c1-2
      printf 'name,count,pin\\nAda,1,AA==\\n' >t.csv; notelog import s t.csv --from csv --into person --yes $quick; echo $?
      printf 'born,count,pin\\n2001-01-01,1,AA==\\n' >t.csv; notelog import s t.csv --from csv --into person --yes $quick | tail -n 1
      """
    let err = """
      notelog: error: 'count' is not optional: give it an integer value
      notelog: error: 'pin' is not optional: give it a bytes value
      notelog: error: 'born' is not optional, and there is no column of that name

      """
    let out = "64\n64\n0\n20\n2\ncompared   1 row and as many records: all the same\n"
    try bench.expect(storePrelude + script, .init(out: out, err: err))
  }
}
