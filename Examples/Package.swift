// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target.
let house: [SwiftSetting] = [
  .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
]

let notelog: Target.Dependency = .product(name: "Notelog", package: "notelog")

// Programs that use the library as apps do: public declarations only.
let package = Package(
  name: "notelog-examples",
  dependencies: [.package(name: "notelog", path: "..")],
  targets: [
    .executableTarget(name: "PasswordManager", dependencies: [notelog], swiftSettings: house),
    .executableTarget(name: "TapOut", dependencies: [notelog], swiftSettings: house),
    .executableTarget(name: "SecureNote", dependencies: [notelog, "TerminalUI"], swiftSettings: house),
    // Keys in, lines of text out, and nothing that knows of notes.
    .target(name: "TerminalUI", swiftSettings: house),
    .testTarget(
      name: "ExampleTests",
      dependencies: ["TerminalUI", "PasswordManager", "TapOut", "SecureNote"], swiftSettings: house),
  ]
)
