// swift-tools-version: 6.2
import PackageDescription

/// The settings of every target.
let house: [SwiftSetting] = [
  .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]

let notelog: Target.Dependency = .product(name: "Notelog", package: "notelog")

// Programs that use the library as apps do: what is public, and nothing else.
let package = Package(
  name: "notelog-examples",
  dependencies: [.package(name: "notelog", path: "..")],
  targets: [
    // Keys in, rows of text out; it knows of no store.
    .target(name: "TerminalUI", swiftSettings: house),
    .systemLibrary(name: "CLegacyCrypto", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .executableTarget(name: "Bucket", dependencies: [notelog], swiftSettings: house),
    .executableTarget(
      name: "MoveNotes", dependencies: [notelog, "CLegacyCrypto", "TerminalUI"], swiftSettings: house),
    .executableTarget(name: "PasswordManager", dependencies: [notelog, "TerminalUI"], swiftSettings: house),
    .executableTarget(name: "TapOut", dependencies: [notelog, "TerminalUI"], swiftSettings: house),
    .executableTarget(name: "Vault", dependencies: [notelog, "TerminalUI"], swiftSettings: house),
    .executableTarget(name: "SecureNote", dependencies: [notelog, "TerminalUI"], swiftSettings: house),
    .target(name: "CTerminal", path: "Tests/CTerminal"),
    .testTarget(
      name: "ExampleTests",
      dependencies: [
        notelog, "Bucket", "CTerminal", "MoveNotes", "PasswordManager", "SecureNote", "TapOut", "TerminalUI",
        "Vault",
      ],
      swiftSettings: house),
  ]
)
