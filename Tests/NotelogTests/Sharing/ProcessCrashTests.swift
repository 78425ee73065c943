// Eight processes share one store, and are killed and stopped at random.

#if os(Linux)
  import Foundation
  import NotelogTestSupport
  import Testing

  @testable import Notelog

  @Suite(.serialized) struct ProcessCrashTests {
    /// INV-P1 to INV-P3, with real processes on a real disk. Without signals the figures of hearing are those
    /// of an idle machine, as far as it is one.
    @Test(arguments: [true, false])
    func `eight processes write in turns, hear everything, and lose nothing to kills and stops`(
      _ isDisturbed: Bool
    ) throws {
      let crowd = try SharingCrowd(isDisturbed: isDisturbed)
      let seconds = ProcessInfo.processInfo.environment["NOTELOG_SHARING_SECONDS"].flatMap(Double.init)
      try crowd.run(seconds: seconds ?? (TestEffort.isSoak ? 3600 : 6))
      print(crowd.report())
      #expect(crowd.mistakes.isEmpty, "\(crowd.mistakes.prefix(10).joined(separator: "\n"))")
      #expect(crowd.acknowledgedCount > 50)
      let store = try crowd.folder.open(SharingCrowd.key)
      for (pair, expected) in crowd.expected {
        let halves = try (0..<2).map { try store.get(Half.self, SharingCrowd.id(pair, $0))?.number ?? 0 }
        #expect(halves[0] == halves[1])
        #expect(expected.contains(halves[0]), "pair \(pair) is \(halves[0]) and not one of \(expected)")
      }
      try store.close()
      let verification = try Store.verify(at: crowd.folder.path, unlocking: SharingCrowd.key)
      #expect(verification.findings.isEmpty && verification.verdict == .sound)
    }
  }

  /// What `SharingChild` writes.
  struct Half: Record {
    var id = RecordID()
    var number = 0
    var filling = ""
    static let schema = Schema<Half>("half") {
      Plain("number", \.number, indexed: true)
      Sealed("filling", \.filling)
    }
  }
#endif
