// The example programs, run as people run them.

import Foundation
import Glibc
import Testing

/// A folder of a test's own.
final class Folder {
  let path: String

  init() throws {
    path = NSTemporaryDirectory() + "notelog-examples-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// All bytes of all files below.
  func bytes() throws -> Data {
    var all = Data()
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      if let data = FileManager.default.contents(atPath: path + "/" + name) { all += data }
    }
    return all
  }
}

enum Program {
  /// Where the programs are: beside the bundle of tests.
  static func path(_ name: String) -> String {
    let bundle = Bundle.allBundles.map(\.bundlePath).first { $0.hasSuffix(".xctest") }
    let folder =
      bundle.map { ($0 as NSString).deletingLastPathComponent }
      ?? (CommandLine.arguments[0] as NSString).deletingLastPathComponent
    return folder + "/" + name
  }

  /// Runs a program to its end.
  static func run(_ name: String, _ arguments: [String], input: String = "") throws -> (
    out: String, error: String, code: Int32
  ) {
    let process = Process()
    process.executableURL = URL(filePath: path(name))
    process.arguments = arguments
    let (out, error, inPipe) = (Pipe(), Pipe(), Pipe())
    (process.standardOutput, process.standardError, process.standardInput) = (out, error, inPipe)
    try process.run()
    try inPipe.fileHandleForWriting.write(contentsOf: Data(input.utf8))
    try inPipe.fileHandleForWriting.close()
    let text = String(decoding: try out.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    let errors = String(decoding: try error.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    process.waitUntilExit()
    return (text, errors, process.terminationStatus)
  }
}

/// A program on a terminal of its own.
final class TerminalSession {
  private(set) var screen: Screen
  /// Everything that was sent.
  private(set) var sent: [UInt8] = []
  private let process = Process()
  private var controller: Int32 = 0

  init(_ name: String, _ arguments: [String], columns: Int = 80, lines: Int = 24) throws {
    screen = Screen(columns: columns, lines: lines)
    var other: Int32 = 0
    var size = winsize(ws_row: UInt16(lines), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    try #require(openpty(&controller, &other, nil, nil, &size) == 0)
    process.executableURL = URL(filePath: Program.path(name))
    process.arguments = arguments
    let end = FileHandle(fileDescriptor: other, closeOnDealloc: true)
    (process.standardInput, process.standardOutput) = (end, end)
    try process.run()
  }

  deinit {
    if process.isRunning { kill(process.processIdentifier, SIGKILL) }
    close(controller)
  }

  func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = write(controller, bytes, bytes.count)
  }

  func resize(columns: Int, lines: Int) {
    var size = winsize(ws_row: UInt16(lines), ws_col: UInt16(columns), ws_xpixel: 0, ws_ypixel: 0)
    _ = ioctl(controller, UInt(TIOCSWINSZ), &size)
    screen = Screen(columns: columns, lines: lines)
    kill(process.processIdentifier, SIGWINCH)
  }

  /// Reads until the screen is as wanted; at most half a minute.
  func expect(_ what: String, _ holds: (Screen) -> Bool, line: Int = #line) throws {
    let end = Date(timeIntervalSinceNow: 30)
    while !holds(screen) {
      guard Date() < end else {
        Issue.record("line \(line): \(what) is not on the screen:\n\(screen.text)")
        throw CancellationError()
      }
      read(milliseconds: 50)
    }
  }

  func expect(_ text: String, line: Int = #line) throws {
    try expect(text, { $0.text.contains(text) }, line: line)
  }

  private func read(milliseconds: Int32) {
    var polled = pollfd(fd: controller, events: Int16(POLLIN), revents: 0)
    guard poll(&polled, 1, milliseconds) > 0 else { return }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = Glibc.read(controller, &buffer, buffer.count)
    guard count > 0 else { return }
    sent += buffer.prefix(count)
    screen.take(buffer.prefix(count))
  }

  /// Waits for the program's end.
  func finish() throws -> Int32 {
    try expect("the end", { _ in !process.isRunning })
    read(milliseconds: 50)
    return process.terminationStatus
  }
}
