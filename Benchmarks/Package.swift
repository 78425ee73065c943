// swift-tools-version: 6.2
import PackageDescription

/// As careful as the library's own targets.
let house: [SwiftSetting] = [
  .strictMemorySafety(), .treatAllWarnings(as: .error), .enableUpcomingFeature("ExistentialAny"),
]

let package = Package(
  name: "notelog-benchmarks",
  // As the package itself: Linux alone is claimed.
  products: [.executable(name: "notelog-bench", targets: ["NotelogBench"])],
  dependencies: [.package(name: "notelog", path: "..")],
  targets: [
    .target(
      name: "CFloor", cSettings: [.unsafeFlags(["-O2", "-Wall", "-Werror"])],
      linkerSettings: [.linkedLibrary("crypto")]),
    .target(name: "CAllocationCount", cSettings: [.unsafeFlags(["-O2", "-Wall", "-Werror"])]),
    // The peers; their libraries are loaded at run time, so that the package builds without them.
    .target(
      name: "CPeers", cSettings: [.unsafeFlags(["-O2", "-Wall", "-Wextra", "-Werror"])],
      linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("dl", .when(platforms: [.linux]))]),
    .executableTarget(
      name: "NotelogBench",
      dependencies: [
        .product(name: "Notelog", package: "notelog"),
        .product(name: "_NotelogBenchmarks", package: "notelog"),
        "CAllocationCount", "CFloor", "CPeers",
      ],
      swiftSettings: house),
  ]
)
