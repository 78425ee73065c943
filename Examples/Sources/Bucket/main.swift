// Ships a store to a bucket, restores it from there, or checks what is there.

import Foundation
import Notelog

/// The bucket at an address. The credentials are in the file that `AWS_SHARED_CREDENTIALS_FILE` names: two lines,
/// `aws_access_key_id = …` and `aws_secret_access_key = …`.
func bucket(_ address: String) throws -> S3Archive {
  let environment = ProcessInfo.processInfo.environment
  let path = environment["AWS_SHARED_CREDENTIALS_FILE"] ?? NSString("~/.aws/credentials").expandingTildeInPath
  var values: [String: String] = [:]
  for line in try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n") {
    let parts = line.split(separator: "=", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
    if parts.count == 2 { values[parts[0]] = parts[1] }
  }
  guard let address = URL(string: address), let user = values["aws_access_key_id"],
    let secret = values["aws_secret_access_key"]
  else { throw S3Archive.Failure(message: "an address, and credentials in '\(path)', are needed") }
  return S3Archive(
    address: address, region: environment["AWS_REGION"] ?? "us-east-1", user: user, secret: secret)
}

do {
  let words = Array(CommandLine.arguments.dropFirst())
  switch (words.first, words.count) {
  case ("ship", 3):
    let summary = try Shipper(of: words[1], to: try bucket(words[2])).ship()
    for finding in summary.findings { print(finding) }
    print("\(summary.putObjects) objects put; all up to revision \(summary.revision) is there")
    exit(summary.findings.isEmpty ? 0 : 3)
  case ("restore", 3):
    // The password or key chooses among keyrings; a store that never got another needs none.
    let summary = try Store.restore(from: try bucket(words[1]), to: words[2])
    print("restored up to revision \(summary.revision)")
    exit(summary.findings.contains(where: \.isDamage) ? 3 : 0)
  case ("verify", 2):
    let verification = try Store.verify(try bucket(words[1]))
    for finding in verification.findings { print(finding) }
    print(verification.findings.contains(where: \.isDamage) ? "damaged" : "sound")
    exit(verification.findings.contains(where: \.isDamage) ? 1 : 0)
  default:
    print("usage: Bucket ship STORE ADDRESS | restore ADDRESS STORE | verify ADDRESS")
    exit(2)
  }
} catch {
  print(error)
  exit(1)
}
