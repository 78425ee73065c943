// A new root and a rotation where a key is not here: what is refused, what is said, and the way out.
import Foundation
import Notelog
import Testing

@Suite struct KeyElsewhereTests {
  let bench: Workbench

  /// A store made on this device, whose records have a field under a key that stays on it, and one under a
  /// key that can be shredded.
  init() throws {
    bench = try Workbench()
    var options = Store.Options()
    options.passwordWork = 14
    options.deviceSecret = .file(bench.folder.appending(path: "device").path)
    let path = bench.folder.appending(path: "visits").path
    let store = try Store.create(at: path, unlocking: .password("open sesame"), options: options) { store in
      try store.createKey("here", .whenUnlockedThisDeviceOnly)
      try store.createKey("patient", .whenUnlocked, isShreddable: true)
      let visits = try store.createCollection(
        "visit",
        fields: [
          .sealed("notes", .text), .sealed("log", .text, key: "here", optional: true),
          .sealed("name", .text, key: "patient", optional: true),
        ])
      try visits.add(["notes": .text("well"), "log": .text("lines"), "name": .text("Ada")])
    }
    try store.close()
  }

  func expect(
    _ script: String, _ expected: Workbench.Answer, _ location: SourceLocation = #_sourceLocation
  ) throws {
    let prelude = """
      printf 'open sesame\\n' >password; printf 'friend\\n' >new; chmod 600 password new
      quick="--password-file password"
      rekey() { notelog password change visits --rekey --yes --new-password-file new --scrypt-log-n 14 "$@" 2>&1 | grep -vE "warning|slot"; }
      id=$(notelog list visits $quick --device-secret device --json | sed 's/.*"id":"\\([^"]*\\)".*/\\1/')

      """
    try bench.expect(prelude + script, expected, location)
  }

  @Test
  func `a new root is refused where a key stayed on another device, before anything is asked or changed`()
    throws
  {
    let script = """
      cp -r visits before
      notelog password change visits --rekey $quick --device-secret other </dev/null; echo $?
      diff -r before visits && echo unchanged
      notelog get visits $id notes $quick --device-secret other; echo
      # There it goes, and takes the key along.
      rekey $quick --device-secret device
      notelog get visits $id log --password-file new --device-secret device; echo
      """
    let out = """
      12
      unchanged
      well
      notelog: note: what was written before is under keys that the old password leads to, until 'notelog key rotate'
      lines

      """
    let err = """
      notelog: error: nothing is changed: the key 'here' stayed on another device, and a new root takes all keys along
      notelog: hint: change the password there; or remove here what is sealed under the key, and 'notelog key rotate visits here'

      """
    try expect(script, .init(out: out, err: err))
  }

  @Test func `where the other device is gone, the way that the hint names leads to a new root`() throws {
    let script = """
      here="$quick --device-secret other"
      notelog key rotate visits here $here --yes; echo $?
      notelog set visits $id log= $here 2>/dev/null; echo $?
      rekey $here
      notelog remove visits $id >/dev/null
      notelog key rotate visits here $here --yes 2>/dev/null; echo $?
      rekey $here
      notelog info visits --password-file new --device-secret other | grep -c '^slot'
      """
    let out = """
      0 values sealed anew under generation 4
      12
      0
      notelog: error: changing the unlock root: key 1 stayed on the device that it was made on, and opens there only
      0 values sealed anew under generation 4; generation 1 is given up
      0
      notelog: note: what was written before is under keys that the old password leads to, until 'notelog key rotate'
      1

      """
    let err = """
      notelog: slot: 0, password, scrypt 2^14
      notelog: error: 1 record could not be sealed anew: values are sealed under a generation that stayed on another device

      """
    try expect(script, .init(out: out, err: err))
  }

  @Test
  func `a new root is refused where an effaceable file is missing, and goes on once the key is given up`()
    throws
  {
    let script = """
      here="$quick --device-secret device"
      mv visits/*.effaceable kept
      notelog password change visits --rekey $here </dev/null; echo $?
      notelog key rotate visits patient $here --yes; echo $?
      notelog key shred visits patient $here --yes 2>/dev/null; echo $?
      rekey $here
      notelog key list visits --password-file new --device-secret device | sed 's/.*  //'
      """
    let out = """
      12
      12
      0
      notelog: note: what was written before is under keys that the old password leads to, until 'notelog key rotate'
      here
      patient
      default

      """
    try expect(
      script,
      .init(
        out: out,
        err: """
          notelog: error: nothing is changed: the effaceable file of the key 'patient' is missing, and a new root takes all keys along
          notelog: hint: put the file back into 'visits', or have 'notelog key shred' give up the key and all that is sealed under it
          notelog: slot: 0, password, scrypt 2^14
          notelog: error: making a generation of a key: key 2 was shredded, or its effaceable file is missing: backups leave it out, so put it here if it is kept

          """))
  }
}
