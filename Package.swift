// swift-tools-version: 6.2
import PackageDescription

/// The settings of every Swift target: the strictest that the toolchain offers.
let house: [SwiftSetting] = [
  .strictMemorySafety(),
  .treatAllWarnings(as: .error),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("MemberImportVisibility"),
  .enableExperimentalFeature("Lifetimes"),
]

/// The settings of the library. In an app's debug build it is optimised, as a database in C is: listing records takes a fifth of the time.
/// In a package's own folder it is not, and is rebuilt in half the time.
let library =
  Context.packageDirectory.contains("/checkouts/")
  ? house + [SwiftSetting.unsafeFlags(["-O"], .when(configuration: .debug))] : house

/// Tests are not optimised, so that they build sooner: what they try is in modules that are, and so is what they do most often, in
/// NotelogTestSupport. Their modules are emitted by the same run of the compiler as their code: a second one would expand their macros once more.
let tests = house + [SwiftSetting.unsafeFlags(["-Onone", "-no-emit-module-separately-wmo"])]

/// What lies below the library, lowest first; the cipher stands beside it.
let below: [Target.Dependency] = ["NotelogBase", "NotelogStorage", "NotelogFormat"]

let package = Package(
  name: "notelog",
  // Linux alone is claimed: README.md, SUPPORT.md.
  products: [
    .library(name: "Notelog", targets: ["Notelog"]),
    .executable(name: "notelog", targets: ["NotelogCLI"]),
    // For the Benchmarks package alone: a package can use another's products only.
    .library(name: "_NotelogBenchmarks", targets: ["NotelogBenchmarks"]),
  ],
  targets: [
    .systemLibrary(name: "COpenSSL", pkgConfig: "libcrypto", providers: [.apt(["libssl-dev"])]),
    .systemLibrary(name: "CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
    .systemLibrary(name: "CSystem"),

    .target(name: "NotelogBase", dependencies: ["CSystem", "CZlib"], swiftSettings: library),
    .target(name: "NotelogStorage", dependencies: ["CSystem", "NotelogBase"], swiftSettings: library),
    .target(name: "NotelogFormat", dependencies: ["NotelogBase", "NotelogStorage"], swiftSettings: library),
    .target(name: "NotelogCrypto", dependencies: ["COpenSSL", "NotelogBase"], swiftSettings: library),
    .target(name: "Notelog", dependencies: below + ["NotelogCrypto"], swiftSettings: library),
    // Linked eagerly, in every build: the first call of a function that is linked lazily saves the registers on the stack, and a key may be
    // in them.
    .executableTarget(
      name: "NotelogCLI", dependencies: ["CSystem", "Notelog"], packageAccess: false, swiftSettings: house,
      linkerSettings: [
        .unsafeFlags(
          ["-Xlinker", "-z", "-Xlinker", "now", "-Xlinker", "-z", "-Xlinker", "relro"],
          .when(platforms: [.linux]))
      ]),
    // What benchmarks measure below the library's interface.
    .target(
      name: "NotelogBenchmarks", dependencies: ["NotelogCrypto"],
      path: "Benchmarks/Sources/NotelogBenchmarks", swiftSettings: house),

    .target(
      name: "NotelogTestSupport", dependencies: below,
      path: "Tests/Support", swiftSettings: house),
    .testTarget(
      name: "NotelogCryptoTests",
      dependencies: ["NotelogBase", "NotelogCrypto", "COpenSSL", "NotelogTestSupport", "SecretsChild"],
      swiftSettings: tests),
    .testTarget(
      name: "NotelogJournalTests",
      dependencies: below + ["CTestSupport", "Notelog", "NotelogCrypto", "NotelogTestSupport"],
      swiftSettings: tests),
    .testTarget(
      name: "NotelogTests",
      dependencies: below + [
        "Notelog", "NotelogCrypto", "NotelogTestSupport", "ReaderChild", "SharingChild", "StreamChild",
      ],
      swiftSettings: tests),
    .target(name: "CTestSupport", path: "Tests/CTestSupport"),
    .testTarget(
      name: "NotelogCLITests",
      dependencies: below + [
        "Notelog", "NotelogCLI", "CTestSupport", "CatchingConsumer", "LeasingApp", "NotelogTestSupport",
      ],
      swiftSettings: tests),
    .testTarget(name: "TidyTests", swiftSettings: house),

    // What tests start as processes of their own, to look into their memory.
    .executableTarget(
      name: "SecretsChild", dependencies: ["NotelogCrypto"], path: "Tests/Children/SecretsChild",
      swiftSettings: house),
    // What tests start as a process of its own, to read a store while it is written.
    .executableTarget(
      name: "ReaderChild", dependencies: ["Notelog"], path: "Tests/Children/ReaderChild",
      swiftSettings: house),
    .executableTarget(
      name: "StreamChild", dependencies: ["Notelog"], path: "Tests/Children/StreamChild", swiftSettings: house
    ),
    // The ways in which apps catch errors. Tests run it, and compile it as an app would.
    .executableTarget(
      name: "CatchingConsumer", dependencies: ["Notelog"], path: "Tests/Children/CatchingConsumer",
      swiftSettings: house),
    // What tests start several times over, to share one store.
    .executableTarget(
      name: "SharingChild", dependencies: ["Notelog"], path: "Tests/Children/SharingChild",
      swiftSettings: house),
    // What the demo and tests run beside the tool.
    .executableTarget(
      name: "LeasingApp", dependencies: ["Notelog"], path: "Tests/Children/LeasingApp",
      swiftSettings: house),
  ]
)
