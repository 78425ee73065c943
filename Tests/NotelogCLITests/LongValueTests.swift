// Values that are never in memory as a whole: in with `set`, out with `get`, and what everything else says of
// them.
import Foundation
import Testing

/// The bug: such a value could not be got out, its whole record was left out of exports with the exit code of
/// damage, and the advice was to call a function of the library.
@Suite struct LongValueTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  private static let schema = """
    {"collections":[{"name":"medicine","fields":[{"name":"name","type":"text"},
      {"name":"photo","type":"bytes","sealed":true,"optional":true},{"name":"scan","type":"bytes","sealed":true,"optional":true},
      {"name":"small","type":"bytes","sealed":true,"compressed":true,"optional":true}]}]}
    """

  private static let prelude = """
    printf 'open sesame\\n' >password
    quick="--password-file password"
    notelog init m --schema schema.json $quick --scrypt-log-n 14 2>/dev/null
    head -c 17000000 /dev/urandom >long
    id=$(notelog add m name=Aspirin $quick)
    short() { sed "s/$id/ID/g"; }

    """

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    try bench.write("schema.json", Self.schema)
    try bench.expect(Self.prelude + script, expected, location)
  }

  @Test func `whether there is a value is said without reading it`() throws {
    let script = """
      notelog set m $id photo=@long $quick
      notelog list m -f name -w 'photo is not none' $quick | cut -f2; notelog list m -f name -w 'photo is none' $quick
      notelog list m -f name -w 'scan is none' $quick | cut -f2
      """
    try expect(script, .init(out: "Aspirin\nAspirin\n"))
  }

  @Test func `a long value goes in from a file or a pipe, and comes out as it was`() throws {
    let script = """
      notelog set m $id name=Ibuprofen photo=@long $quick
      notelog get m $id photo $quick | cmp - long && echo same
      { cat long; echo end; } | notelog set m $id scan=- $quick
      notelog get m $id scan $quick | tail -c 4
      notelog get m $id name $quick; echo
      printf abc | notelog set m $id scan=- $quick
      notelog get m $id scan $quick; echo
      notelog verify m $quick | grep verdict
      """
    try expect(script, .init(out: "same\nend\nIbuprofen\nabc\nverdict    sound\n"))
  }

  @Test func `what a long value is refused by says where it goes`() throws {
    let script = """
      notelog add m name=x photo=@long $quick; echo $?
      notelog set m $id small=@long $quick; echo $?
      notelog set m $id photo=@long scan=@long $quick; echo $?
      notelog set m $id photo=@nothing $quick; echo $?
      notelog set m $id photo=@long $quick
      notelog get m $id photo --json $quick 2>&1 | short
      """
    let limit = """
      notelog: error: 'long' holds more than 16 MiB, the most that a value may have here
      notelog: hint: 'notelog set' takes any length, for a sealed field of bytes that is not padded, compressed or unique

      """
    let error = """
      notelog: error: photo and scan may both be long
      notelog: hint: set one long value at a time
      notelog: error: cannot read 'nothing': no such file or directory
      notelog: hint: a text that begins with @ is written with @@

      """
    let out = """
      2
      2
      64
      2
      notelog: error: photo has 17000000 bytes, which is more than can be shown
      notelog: hint: send it to a file: notelog get m ID photo >FILE

      """
    try expect(script, .init(out: out, err: limit + limit + error))
  }

  @Test func `an export leaves out the value and not the record, and says so`() throws {
    let script = """
      notelog set m $id photo=@long scan=@schema.json $quick
      for format in jsonl csv sql; do notelog export m --as $format $quick >out 2>err; echo $?; short <err; short <out | grep -c 'ID.*Aspirin'; done
      notelog export m --as jsonl $quick 2>/dev/null | sed 's/"base64":"[^"]*"/B/; s/.*"fields"://'
      notelog get m $id $quick 2>/dev/null | grep photo; notelog get m $id $quick >/dev/null 2>&1; echo $?
      notelog dump m --json $quick 2>/dev/null | grep -o '"photo":[^,]*,' ; notelog list m $quick | short; echo $?
      """
    let said = "4\nnotelog: warning: record ID: photo is left out, as it has 17000000 bytes\n1\n"
    let rest = #"""
      {"name":"Aspirin","scan":{B},"small":null}}
        photo  17000000 bytes, too long to be shown
      4
      "photo":{"long":17000000},
      ID	Aspirin
      0

      """#
    try expect(script, .init(out: said + said + said + rest))
  }
}
