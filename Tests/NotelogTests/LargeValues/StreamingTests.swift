// A value far larger than memory ought to be is streamed in and out by a process that stays small, and so is a
// list of records.

#if os(Linux)
  import Foundation
  import NotelogTestSupport
  import Testing

  @Suite struct StreamingTests {
    /// The bug: a list by an index kept the records whose keys begin alike, all of them.
    @Test func `a process that streams an attachment stays small, and so does one that lists as much`() throws
    {
      let mebibyteCount = TestEffort.isSoak ? 2_048 : 128
      let folder = try TemporaryFolder()
      let process = Process()
      let output = Pipe()
      process.executableURL = try Self.productsFolder().appending(path: "StreamChild")
      process.arguments = [folder.path, "\(mebibyteCount)"]
      process.standardOutput = output
      try process.run()
      let said = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
      let words = said.split(whereSeparator: \.isWhitespace)
      try #require(words.count == 6)
      #expect(words[1] == "\(mebibyteCount)")
      let peakKibibyteCount = try #require(Int(words[3]))
      #expect(peakKibibyteCount < 100 << 10)
      // Less than what was listed.
      let listedKibibyteCount = try #require(Int(words[5]))
      #expect(listedKibibyteCount < 128 << 10)
      print(
        "streamed \(mebibyteCount) MiB with \(peakKibibyteCount >> 10) MiB at most, listed with \(listedKibibyteCount >> 10)"
      )
    }

    /// Where the tests' own binary lies, and the child beside it.
    private static func productsFolder() throws -> URL {
      let path = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
      return URL(filePath: path).deletingLastPathComponent()
    }
  }
#endif
