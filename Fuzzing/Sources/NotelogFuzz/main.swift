// Feeds bytes that libFuzzer makes up to one target: `NotelogFuzz TARGET [options of libFuzzer] FOLDER`; or
// lists the targets, or writes a target's seeds: `NotelogFuzz targets`, `NotelogFuzz seeds TARGET FOLDER`.

import Foundation

func fail(_ message: String) -> Never {
  FileHandle.standardError.write(Data("fuzz: \(message)\n".utf8))
  exit(64)
}

func target(named name: String?) -> any FuzzTarget.Type {
  guard let name, let target = Fuzzer.targets[name] else {
    fail("name one of these targets: \(Fuzzer.targets.keys.sorted().joined(separator: ", "))")
  }
  return target
}

var arguments = Array(CommandLine.arguments.dropFirst())
switch arguments.first {
case "targets":
  print(Fuzzer.targets.keys.sorted().joined(separator: "\n"))
case "seeds":
  guard arguments.count == 3 else { fail("seeds TARGET FOLDER") }
  for (index, seed) in try target(named: arguments[1]).seeds().enumerated() {
    try Data(seed).write(to: URL(filePath: arguments[2]).appending(path: "seed-\(index)"))
  }
default:
  let chosen = target(named: arguments.first)
  arguments[0] = CommandLine.arguments[0]
  exit(Fuzzer.run(chosen, arguments))
}
