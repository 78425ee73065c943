// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "notelog-benchmarks",
  platforms: [.macOS(.v26)],
  products: [.executable(name: "notelog-bench", targets: ["NotelogBench"])],
  dependencies: [.package(name: "notelog", path: "..")],
  targets: [
    .target(
      name: "CFloor", cSettings: [.unsafeFlags(["-O2", "-Wall", "-Werror"])],
      linkerSettings: [.linkedLibrary("crypto")]),
    .target(name: "CAllocationCount", cSettings: [.unsafeFlags(["-O2", "-Wall", "-Werror"])]),
    .executableTarget(
      name: "NotelogBench",
      dependencies: [.product(name: "Notelog", package: "notelog"), "CFloor", "CAllocationCount"],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)]),
  ]
)
