// swift-tools-version: 6.2
import PackageDescription

/// As careful as the library's own targets.
let house: [SwiftSetting] = [
  .strictMemorySafety(), .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
]

// scripts/fuzz says how it is built: with the sanitizers, and with what `@testable import` needs.
let package = Package(
  name: "notelog-fuzz",
  // As the package itself: Linux alone is claimed.
  dependencies: [.package(name: "notelog", path: "..")],
  targets: [
    .systemLibrary(name: "CLibFuzzer"),
    .executableTarget(
      name: "NotelogFuzz", dependencies: [.product(name: "Notelog", package: "notelog"), "CLibFuzzer"],
      swiftSettings: house),
  ]
)
