// Dates that nobody gives: what `add` stores for them, and how `list` goes by them.
import Foundation
import Testing

@Suite struct DateFieldTests {
  @Test func `a date that nobody gives is now, and the first plain one orders a list`() throws {
    let bench = try Workbench()
    try bench.write(
      "schema.json",
      """
      {"collections": [{"name": "day", "fields": [{"name": "date", "type": "date", "indexed": true},
        {"name": "seen", "type": "date", "optional": true}, {"name": "mood", "type": "text"}]}]}
      """)
    let script = """
      printf 'open sesame\\n' >password
      quick="--password-file password"
      notelog init d.notelog --schema schema.json $quick --scrypt-log-n 14 2>/dev/null
      notelog add d.notelog mood=old date=2020-01-02T00:00:00Z $quick >/dev/null
      notelog add d.notelog mood=now $quick >id
      notelog add d.notelog mood=older date=2019-01-02T00:00:00Z $quick >/dev/null
      notelog list d.notelog --field mood | grep -o 'now$\\|old$\\|older$'
      notelog dump d.notelog --json | grep -c '"date":"20[2-9]'
      notelog dump d.notelog --json | grep -c '"seen":"' || true
      """
    try bench.expect(script, .init(out: "now\nold\nolder\n2\n0\n"))
  }
}
