// A store without collections: made on purpose, and plain words where one is needed.
import Testing

@Suite struct EmptyStoreTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `a store is made without a collection, says so where one is needed, and takes a table in`()
    throws
  {
    try bench.write("birds.csv", "name,count\nwren,3\nowl,1\n")
    let script = """
      printf 'open sesame\\n' >password; chmod 600 password; quick="--password-file password"
      notelog init birds --empty $quick --scrypt-log-n 14 2>/dev/null; echo $?
      notelog dump birds; echo $?
      notelog verify birds | tail -1
      for command in list "list birds" "add name=wren" "export --as csv"; do
        set -- $command; verb=$1; shift
        notelog $verb birds "$@" $quick; echo $?
      done
      echo '{"fields":{"name":"wren"}}' | notelog import birds $quick; echo $?
      notelog import birds birds.csv --from csv --plain name,count --yes $quick >/dev/null; echo $?
      notelog list birds --sort count --json | sed 's/.*"fields"://'
      """
    let refusal = """
      notelog: error: the store has no collections
      notelog: hint: an app makes its own in it, and 'notelog import --from' one of a table

      """
    try bench.expect(
      script,
      .init(
        out: """
          0
          0
          verdict    sound
          1
          1
          1
          1
          1
          0
          {"name":"owl","count":1}}
          {"name":"wren","count":3}}

          """,
        err: refusal + refusal + refusal + refusal
          + refusal.replacing("error: the store", with: "error: line 1: the store")))
  }

  @Test func `a schema without a collection names what makes such a store, and a collection may lack fields`()
    throws
  {
    try bench.write("none.json", #"{"collections": []}"#)
    try bench.write("bare.json", #"{"collections": [{"name": "bare", "fields": []}]}"#)
    let script = """
      printf 'open sesame\\n' >password; chmod 600 password; quick="--password-file password"
      notelog init none --schema none.json $quick; echo $?
      notelog init none --schema none.json --empty $quick; echo $?
      ls none 2>/dev/null
      notelog init bare --schema bare.json $quick --scrypt-log-n 14 2>/dev/null; echo $?
      notelog add bare name=wren $quick; echo $?
      """
    try bench.expect(
      script,
      .init(
        out: "2\n64\n0\n2\n",
        err: """
          notelog: error: the schema lists no collection
          notelog: hint: --empty makes a store without any
          notelog: error: --schema and --empty are both given, and one is enough
          notelog: error: 'bare' has no field 'name'
          notelog: hint: it has none

          """))
  }
}
