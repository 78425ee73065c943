// The script that drives the real tool by processes: damage, links, kills, many segments, tables of
// strangers.
import Foundation
import Testing

@Suite struct TortureTests {
  static let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent().appending(path: "scripts/torture")

  static let canRun =
    (try? Workbench().run("python3 -c 'import sys; sys.exit(sys.version_info < (3, 10))'").code) == 0

  /// `make torture` gives each campaign a minute; full disks have a test of their own.
  @Test(arguments: [
    "damage", "links", "descriptors", "updates", "processes", "doors", "doors-agent", "doors-import",
    "doors-keys",
  ])
  func `a short campaign finds nothing that does not hold`(_ campaign: String) throws {
    guard Self.canRun else { return }
    let answer = try Workbench().run(
      "'\(Self.script.path)' $(command -v notelog) \(campaign) --seconds 3")
    #expect(answer.code == 0 && answer.err.isEmpty, "\(answer.out)\(answer.err)")
    // The summary, with what was counted: a campaign that tried nothing has shown nothing.
    let summary = answer.out.split(separator: "\n").first ?? ""
    #expect(summary.starts(with: campaign) && summary.contains("holds: "), "\(summary)")
    #expect(summary.contains(#/[1-9][0-9,]* (attacks|cases|commands|runs|updates)/#), "\(summary)")
  }
}
