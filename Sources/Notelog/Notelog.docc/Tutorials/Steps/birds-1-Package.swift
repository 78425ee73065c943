// swift-tools-version: 6.2
import PackageDescription

let package = Package(
  name: "birds",
  dependencies: [.package(name: "notelog", path: "../notelog")],
  targets: [
    .executableTarget(name: "birds", dependencies: [.product(name: "Notelog", package: "notelog")])
  ]
)
