// A bucket as an archive, by the S3 interface.

import Foundation
import Notelog

/// What a bucket holds under a prefix. `curl` signs the requests and carries them.
///
/// Objects are put, listed and read, and nothing else: credentials that may do no more are enough, and objects
/// may be locked.
struct S3Archive: Archive {
  /// Where the bucket is, with the prefix: `https://s3.eu-central-1.amazonaws.com/notes/laptop`.
  let address: URL
  let region: String
  /// The two halves of the credentials.
  let user: String
  let secret: String

  func objects() throws -> [String: Int] {
    let parts = address.path.split(separator: "/", maxSplits: 1).map(String.init)
    guard let bucket = parts.first, let root = URL(string: "/\(bucket)", relativeTo: address) else {
      throw Failure(message: "the address names no bucket")
    }
    let prefix = parts.count > 1 ? parts[1] + "/" : ""
    var (objects, token) = ([String: Int](), "")
    repeat {
      // In order of their names, as signing has it.
      let query =
        (token.isEmpty ? "" : "continuation-token=\(escaped(token))&")
        + "list-type=2&prefix=\(escaped(prefix))"
      let answer = try String(decoding: request("\(root.absoluteString)?\(query)"), as: UTF8.self)
      guard answer.contains("<ListBucketResult") else { throw Failure(message: "the listing is none") }
      for item in answer.components(separatedBy: "<Contents>").dropFirst() {
        guard let key = text("Key", in: item), let size = text("Size", in: item).flatMap({ Int($0) }) else {
          throw Failure(message: "an object has no key or size in the listing")
        }
        if key.hasPrefix(prefix) { objects[String(key.dropFirst(prefix.count))] = size }
      }
      token = text("IsTruncated", in: answer) == "true" ? text("NextContinuationToken", in: answer) ?? "" : ""
    } while !token.isEmpty
    return objects
  }

  func put(_ name: String, _ contents: ArchiveContents) throws {
    let file = FileManager.default.temporaryDirectory.appending(path: "bucket-\(UUID().uuidString)")
    try Data().write(to: file)
    defer { try? FileManager.default.removeItem(at: file) }
    let handle = try FileHandle(forWritingTo: file)
    defer { try? handle.close() }
    for start in stride(from: 0, to: contents.byteCount, by: 1 << 20) {
      try handle.write(contentsOf: contents.read(start..<min(contents.byteCount, start + 1 << 20)))
    }
    // The bucket refuses other bytes than those of the checksum: an object is whole, or there is none.
    let checksum = withUnsafeBytes(of: contents.checksum.bigEndian) { Data($0).base64EncodedString() }
    _ = try request(
      objectAddress(name),
      [
        "upload-file = \(quoted(file.path))", "header = \"x-amz-content-sha256: UNSIGNED-PAYLOAD\"",
        "header = \"x-amz-sdk-checksum-algorithm: CRC32\"", "header = \"x-amz-checksum-crc32: \(checksum)\"",
      ])
  }

  func read(_ name: String, _ range: Range<Int>) throws -> [UInt8] {
    if range.isEmpty { return [] }
    let bytes = try request(
      objectAddress(name), ["range = \"\(range.lowerBound)-\(range.upperBound - 1)\""])
    guard bytes.count == range.count else { throw Failure(message: "'\(name)' is shorter than it was") }
    return Array(bytes)
  }

  // MARK: - Requests

  struct Failure: Error, CustomStringConvertible {
    let message: String
    var description: String { message }
  }

  private func objectAddress(_ name: String) -> String {
    address.absoluteString + (address.absoluteString.hasSuffix("/") ? "" : "/") + name
  }

  /// What curl answers. Options go through a pipe: whoever lists processes sees no secret.
  private func request(_ address: String, _ options: [String] = []) throws -> Data {
    let curl = Process()
    let (input, output, errors) = (Pipe(), Pipe(), Pipe())
    curl.executableURL = URL(filePath: "/usr/bin/env")
    curl.arguments = ["curl", "--disable", "--config", "-"]
    (curl.standardInput, curl.standardOutput, curl.standardError) = (input, output, errors)
    try curl.run()
    let lines =
      [
        "url = \(quoted(address))", "aws-sigv4 = \(quoted("aws:amz:\(region):s3"))",
        "user = \(quoted("\(user):\(secret)"))",
        "silent", "show-error", "fail", "globoff", "connect-timeout = 30", "speed-limit = 1",
        "speed-time = 60",
      ] + options
    try input.fileHandleForWriting.write(contentsOf: Data(lines.joined(separator: "\n").utf8))
    try input.fileHandleForWriting.close()
    // What curl has to say is a line: it fits into the pipe until it is read.
    let answer = try output.fileHandleForReading.readToEnd() ?? Data()
    let words = String(decoding: try errors.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
    curl.waitUntilExit()
    guard curl.terminationStatus == 0 else {
      throw Failure(message: words.trimmingCharacters(in: .whitespacesAndNewlines))
    }
    return answer
  }

  private func quoted(_ text: String) -> String {
    "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "") + "\""
  }

  private func escaped(_ text: String) -> String {
    let plain = CharacterSet(
      charactersIn: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
    return text.addingPercentEncoding(withAllowedCharacters: plain) ?? ""
  }

  private func text(_ element: String, in xml: String) -> String? {
    guard let start = xml.range(of: "<\(element)>"),
      let end = xml.range(of: "</\(element)>", range: start.upperBound..<xml.endIndex)
    else { return nil }
    return String(xml[start.upperBound..<end.lowerBound])
  }
}
