// What the commands of a page find when they begin, and what is there when they are through.
import Foundation
import Notelog
import Testing

struct PageRun: Sendable {
  /// Programs that the page needs and that not every machine has: without them it is left out.
  var needs: [String] = []
  /// Commands before the page's own.
  var setup = ""
  /// Commands behind the page's own.
  var after = ""
  /// Looks at what the page has made, and at what was shown.
  var check: @Sendable (Workbench, String) throws -> Void = { _, _ in }

  var canRun: Bool {
    needs.allSatisfy { FileManager.default.isExecutableFile(atPath: "/usr/bin/" + $0) }
  }

  /// A page that is not named here begins with nothing but a password in the file `password`.
  static func of(_ path: String) -> PageRun {
    let articles = "Sources/Notelog/Notelog.docc/"
    return switch path {
    case "README.md": readme
    case "docs/passwords.md": passwords
    case "docs/a-week.md": week
    case articles + "DamagedStore.md": damagedStore
    case articles + "KeysAndDevices.md": keysAndDevices
    case articles + "FromCoreData.md": FromCoreDataArticle.run
    case articles + "FromGRDBAndSQLCipher.md": FromGRDBArticle.run
    case articles + "FromRealm.md": FromRealmArticle.run
    default: PageRun()
    }
  }

  private static let store = """
    notelog init my.notelog --password-file password --scrypt-log-n 14 2>init
    for title in one two three Hello; do notelog add my.notelog title=$title --password-file password >>ids; done

    """

  /// The bucket is a folder. Yesterday nothing was written, so its 14:03 is tomorrow's here.
  private static let readme = PageRun(
    setup: store + """
      printf '#!/bin/sh\\nshift $(($# - 2)); mkdir -p "$2"; cp -r "$1/." "$2"\\n' >programs/rclone
      printf '#!/bin/sh\\n/bin/date -d tomorrow +%%F\\n' >programs/date
      chmod +x programs/*
      """,
    check: { _, shown in
      for text in ["shipped revision 5", "revision 5, branch", "three"] {
        #expect(shown.contains(text), "\(text)")
      }
    })

  /// An editor's file has to be in memory.
  private static let week = PageRun(
    setup: "plain=$(mktemp -d /dev/shm/week.XXXXXX); export XDG_RUNTIME_DIR=$plain",
    check: { _, shown in
      for text in ["340 g water", "Cabin", "Oslo", "restored", "350 g water", "all the same"] {
        #expect(shown.contains(text), "\(text)")
      }
    })

  private static let passwords = PageRun(
    setup: store + """
      printf '#!/bin/sh\\necho open sesame\\n' >programs/pass
      cp programs/pass programs/secret-tool
      chmod +x programs/*
      """,
    check: { _, shown in #expect(shown.contains("three") && shown.contains(" left\r\n")) })

  /// A record of the store is damaged, and its backup has what was there; another record came since.
  private static let damagedStore = PageRun(
    setup: store + """
      notelog backup my.notelog my.backup
      notelog add my.notelog title=four --password-file password >>ids
      place=$(notelog dump --frames my.notelog | sed -nE 's/^ *([0-9]+) .*record .*collection 1$/\\1/p' | sed -n 2p)
      printf X | dd of=my.notelog/000000000001.journal bs=1 seek=$((place + 90)) conv=notrunc status=none
      """,
    after: """
      grep -c '^finding' findings
      notelog list restored.notelog --field title --password-file password | sed 's/.*\t//' | LC_ALL=C sort | tr '\\n' ' '
      notelog verify my.notelog >again || true
      cmp findings again
      """,
    check: { _, shown in
      #expect(shown.contains("there is damage"))
      #expect(shown.contains("not everything could be taken"))
      #expect(shown.contains("some of it is lost"))
      #expect(shown.contains("\r\n1\r\nHello four one three two "), "\(shown)")
    })

  private static let keysAndDevices = PageRun(
    setup: store,
    after: "notelog list moved.notelog --field title",
    check: { _, shown in #expect(shown.contains("three") && shown.contains("slot        1, recovery")) })
}

/// A store that a page has made, opened as the page's app would.
func openedStore(_ name: String, in bench: Workbench, _ types: [any Record.Type]) throws -> Store {
  var options = Store.Options()
  options.recordTypes = types
  return try Store.open(
    at: bench.folder.appending(path: name).path, unlocking: .password("open sesame"), options: options)
}
