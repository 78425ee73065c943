// Records that name their keys, on the command line.
import Foundation
import Testing

@Suite struct ChosenKeyCommandTests {
  @Test func `records name their keys, are counted under them, and go to another store and back`() throws {
    let bench = try Workbench()
    try bench.write(
      "schema.json",
      """
      {"collections": [{"name": "item", "fields": [{"name": "place", "type": "text"},
        {"name": "secret", "type": "text", "sealed": true, "keyFrom": "place", "keys": ["home", "work"]}]}]}
      """)
    let script = """
      printf 'open sesame\\n' >password
      quick="--password-file password"
      for s in one two; do notelog init $s.notelog --schema schema.json $quick --scrypt-log-n 14 2>/dev/null; done
      notelog add one.notelog place=home secret=a $quick >id
      notelog add one.notelog place=work secret=b $quick >/dev/null
      notelog add one.notelog place=work secret=c $quick >/dev/null
      notelog add one.notelog place=nowhere secret=d $quick 2>&1 | grep -c 'item.place names none of the keys'
      notelog key list one.notelog $quick | sed 's/.*Unlocked  //'
      notelog set one.notelog "$(cat id)" place=work $quick
      notelog key rotate one.notelog work $quick --yes 2>/dev/null
      notelog key list one.notelog $quick | sed 's/.*Unlocked  //'
      notelog info one.notelog | grep -c 'sealed under the key that place names'
      notelog dump one.notelog --json $quick | notelog import two.notelog - $quick >/dev/null
      notelog key list two.notelog $quick | sed 's/.*Unlocked  //'
      notelog verify two.notelog $quick >/dev/null; echo $?
      notelog get two.notelog "$(cat id)" secret $quick; echo
      """
    let out = """
      1
      1 value  home
      2 values  work
      3 values sealed anew under generation 3; generation 2 is given up
      0 values  home
      3 values  work
      1
      0 values  home
      3 values  work
      0
      a

      """
    try bench.expect(script, .init(out: out))
  }
}
