// TapOut, in both versions, and two of it at once.

import Foundation
import Testing

@Suite struct TapOutTests {
  private let folder: Folder
  private var store: String { folder.path + "/taps.notelog" }

  init() throws { folder = try Folder() }

  private func run(_ words: String...) throws -> String {
    let answer = try Program.run("TapOut", [store] + words)
    #expect(answer.code == 0, "\(answer.error)")
    return answer.out
  }

  @Test func `taps are drawn in colour and as SVG, and their colours are sealed`() throws {
    _ = try run("tap", "10", "20", "red")
    _ = try run("tap", "50", "50", "blue")
    let drawn = try run("draw").split(separator: "\n", omittingEmptySubsequences: false)
    #expect(drawn[4].contains("\u{1B}[38;2;230;51;51m●") && drawn[10].contains("\u{1B}[38;2;51;102;230m●"))
    #expect(drawn[4].hasPrefix("    \u{1B}["))
    let svg = try run("svg")
    #expect(svg.contains("<circle cx=\"10.0\" cy=\"20.0\" r=\"2.0\" fill=\"rgb(230,51,51)\"/>"))
    #expect(try XMLDocumentCheck.isWellFormed(svg))
    #expect(try folder.bytes().range(of: Data("\"red\":".utf8)) == nil)
  }

  @Test func `version 2 opens version 1's store, and version 1 that of version 2`() throws {
    _ = try run("tap", "10", "20", "red")
    #expect(try run("--version", "2", "svg").contains("cx=\"10.0\" cy=\"20.0\" r=\"2.0\""))
    _ = try run("--version", "2", "tap", "30", "40", "green")
    let svg = try run("--version", "2", "svg")
    #expect(svg.contains("cx=\"10.0\" cy=\"20.0\" r=\"2.0\" fill=\"rgb(230,51,51)\""))
    #expect(svg.contains("cx=\"30.0\" cy=\"40.0\" r=\"3.6\" fill=\"rgb(51,179,77)\""))
    let old = try run("svg")
    #expect(old.contains("cx=\"30.0\" cy=\"40.0\" r=\"2.0\" fill=\"rgb(51,179,77)\""))
    _ = try run("tap", "60", "70", "yellow")
    #expect(try run("--version", "2", "svg").contains("cx=\"60.0\" cy=\"70.0\""))
  }

  @Test func `a live list hears what another process taps`() throws {
    _ = try run("tap", "1", "1", "red")
    let follower = Process()
    follower.executableURL = URL(filePath: Program.path("TapOut"))
    follower.arguments = [store, "follow", "1"]
    let pipe = Pipe()
    follower.standardOutput = pipe
    try follower.run()
    // The first line says that it follows.
    var heard = String(decoding: pipe.fileHandleForReading.availableData, as: UTF8.self)
    #expect(heard.hasPrefix("1 taps"))
    _ = try run("tap", "2", "2", "green")
    heard += String(decoding: try pipe.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    follower.waitUntilExit()
    #expect(heard.contains("2 taps, 1 new") && follower.terminationStatus == 0)
  }
}

enum XMLDocumentCheck {
  /// Whether each tag is closed, one way or the other.
  static func isWellFormed(_ text: String) throws -> Bool {
    var open: [Substring] = []
    for match in text.matches(of: /<(\/?)(\w+)[^>]*?(\/?)>/) {
      if !match.1.isEmpty {
        if open.popLast() != match.2 { return false }
      } else if match.3.isEmpty {
        open.append(match.2)
      }
    }
    return open.isEmpty
  }
}
