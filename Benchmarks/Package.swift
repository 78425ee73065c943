// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "notelog-benchmarks",
  platforms: [.macOS(.v26)],
  products: [.executable(name: "notelog-bench", targets: ["NotelogBench"])],
  dependencies: [.package(name: "notelog", path: "..")],
  targets: [
    .executableTarget(
      name: "NotelogBench", dependencies: [.product(name: "Notelog", package: "notelog")],
      swiftSettings: [.strictMemorySafety(), .treatAllWarnings(as: .error)])
  ]
)
