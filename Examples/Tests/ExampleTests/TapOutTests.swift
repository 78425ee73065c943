// TapOut in both versions, and two of it at once.

import Foundation
import Testing

@Suite struct TapOutTests {
  let bench: Bench
  init() throws { bench = try Bench() }

  @discardableResult
  private func run(_ words: String..., code: Int32 = 0) throws -> String {
    let answer = try bench.run("TapOut", ["my.taps"] + words)
    #expect(answer.code == code, "\(answer.out)")
    return answer.out
  }

  private func svg(_ version: String) throws -> String {
    try run("--version", version, "svg", "taps.svg")
    return try String(contentsOf: bench.folder.appending(path: "taps.svg"), encoding: .utf8)
  }

  @Test func `taps are drawn in their colours, on the terminal and as SVG, and taken back`() throws {
    try run("tap", "10", "20", "e63946")
    try run("tap", "50.5", "99", "1d3557")
    let rows = try run("draw").split(separator: "\n", omittingEmptySubsequences: false)
    #expect(rows[4].hasPrefix("     \u{1B}[0;38;2;230;57;70m●"))
    #expect(rows[19].contains("\u{1B}[0;38;2;29;53;87m●"))
    let svg = try svg("1")
    #expect(svg.contains(#"<circle cx="10.0" cy="20.0" r="2.0" fill="rgb(230 57 70)"/>"#))
    #expect(svg.hasPrefix("<svg xmlns=") && svg.hasSuffix("</svg>\n"))
    try run("undo")
    #expect(try !run("draw").contains("29;53;87"))
    try run("undo")
    #expect(try run("undo", code: 1) == "There is no tap.\n")
    #expect(try run("tap", "1", "1", "red", code: 1).hasPrefix("usage:"))
  }

  @Test func `where taps were is in the files, their colour is not`() throws {
    try run("tap", "10.25", "20", "e63946")
    let bytes = try bench.bytes(below: "my.taps").map(\.bytes)
    let place = withUnsafeBytes(of: (10.25).bitPattern.littleEndian) { Data($0) }
    #expect(bytes.contains { $0.range(of: place) != nil })
    #expect(!bytes.contains { $0.range(of: Data([0xE6, 0x39, 0x46])) != nil })
  }

  @Test func `version 2 opens version 1's store, and version 1 opens version 2's`() throws {
    try run("tap", "10", "20", "e63946")
    // What is new has its initial value, what is renamed its old one.
    #expect(try svg("2").contains(#"cx="10.0" cy="20.0" r="2.0" fill="rgb(230 57 70)""#))
    try run("--version", "2", "tap", "30", "40", "2a9d8f")
    #expect(try svg("2").contains(#"cx="30.0" cy="40.0" r="4.0" fill="rgb(42 157 143)""#))
    // The older version goes on, and so does the newer one after it.
    #expect(try svg("1").contains(#"cx="30.0" cy="40.0" r="2.0" fill="rgb(42 157 143)""#))
    try run("tap", "60", "70", "f4a261")
    #expect(try svg("2").contains(#"cx="60.0" cy="70.0" r="2.0" fill="rgb(244 162 97)""#))
    #expect(try svg("2").contains(#"cx="30.0" cy="40.0" r="4.0""#))
  }

  @Test func `a live list shows what another process taps and takes back`() throws {
    try run("tap", "10", "20", "e63946")
    let list = try PseudoTerminal("TapOut", ["my.taps", "live", "2"], in: bench.folder)
    try list.expect("+ ● 10.0, 20.0\n1 taps")
    try run("--version", "2", "tap", "30", "40", "2a9d8f")
    try list.expect("+ ● 30.0, 40.0\n2 taps")
    try run("undo")
    try list.expect("- ● 30.0, 40.0\n1 taps")
    #expect(list.finish() == 0)
  }
}
