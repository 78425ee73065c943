// What somebody else wrote into a name, a path or an option moves nobody's cursor: stderr, and text for
// people, show it escaped.
import Foundation
import NotelogCrypto
import Testing

@testable import Notelog

@Suite struct ControlCharacterTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// The bug: control characters were escaped on a terminal only, and what a log or a pager kept reached one
  /// later.
  @Test func `no control character reaches stderr, wherever it comes from`() throws {
    let script = """
      e=$(printf '\\033[31m'); id=00000000-0000-0000-0000-000000000001
      try() { notelog "$@" $quick >/dev/null 2>>err; }
      try "a$e"; try list "$e"; try list my.notelog --where "x$e=1"; try list my.notelog --where "time${e}1"
      try list my.notelog "x$e"; try list my.notelog --sort "x$e"; try list my.notelog "--x$e"
      try add my.notelog "x$e=1"; try add my.notelog "time=$e"; try get my.notelog "$e"; try get my.notelog $id "$e"
      try key add my.notelog k --class "$e"; try import my.notelog "no$e"; try verify "$e"; try init "no$e/x"
      try backup "$e" x; try backup my.notelog "no$e/x"; try salvage my.notelog --to "no$e/x"; try init x --schema "no$e"
      try search my.notelog x --field "$e"; try help "$e"; try compact my.notelog --segment-size "$e"
      notelog list my.notelog --password-file "no$e" 2>>err; notelog list my.notelog --key-file "no$e" 2>>err
      printf '{"fields":{"x\\033":1}}\\n' | notelog import my.notelog $quick 2>>err
      grep -c '[^[:print:]]' err; grep -c 'u{1B}' err | awk '$1 > 15 { print "said" }'
      """
    try bench.expect(passwordPrelude + script, .init(out: "0\nsaid\n"))
  }

  @Test func `a name with control characters, from before they were refused, stays in its line`() throws {
    _ = try bench.run(passwordPrelude)
    let store = try Store.open(
      at: bench.folder.path + "/my.notelog", unlocking: .password("open sesame"))
    try store.changeKeyring("adding a key") { change throws(CryptoError) in
      try change.addKey(named: "a\u{1B}[2J\nslot        9, password", class: .whenUnlocked)
    }
    try store.close()
    let script = """
      quick="--password-file password"
      for line in info 'key list' 'verify'; do notelog $line my.notelog $quick | grep -c '[^[:print:]]'; done
      notelog info my.notelog $quick | grep -c '^slot'
      notelog key list my.notelog $quick | grep -c 'u{1B}'
      """
    try bench.expect(script, .init(out: "0\n0\n0\n1\n1\n"))
  }
}
