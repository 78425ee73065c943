// Fails the first call of a workload, then the second, and so on until none is left to fail.

package import NotelogStorage

/// A workload that meets one failure after another, and what must hold afterwards.
package struct FaultSweep: Sendable {
  /// What goes wrong, and which calls it can go wrong in.
  package struct Variant: Sendable {
    package let kind: Fault.Kind
    package let calls: Set<StorageError.Call>
    package let lasts: Bool

    package init(_ kind: Fault.Kind, of calls: Set<StorageError.Call>, lasts: Bool = false) {
      self.kind = kind
      self.calls = calls
      self.lasts = lasts
    }
  }

  /// Every way a call can fail, once and from then on.
  package static let everyVariant: [Variant] = [
    Variant(.error(SystemErrno.inputOutput), of: .everyCall),
    Variant(.error(SystemErrno.inputOutput), of: .everyCall, lasts: true),
    Variant(.error(SystemErrno.noSpace), of: .taking),
    Variant(.error(SystemErrno.noSpace), of: .taking, lasts: true),
    Variant(.error(SystemErrno.interrupted), of: .interruptible),
    Variant(.error(SystemErrno.accessDenied), of: .naming),
    Variant(.errorAfterHalf(SystemErrno.inputOutput), of: [.write]),
    Variant(.errorAfterHalf(SystemErrno.noSpace), of: [.write]),
    Variant(.shortCount, of: [.read, .write]),
    Variant(.syncDropsPages(readsOldBytes: false), of: [.sync]),
    Variant(.syncDropsPages(readsOldBytes: true), of: [.sync]),
  ]

  /// Runs the workload with the nth call failing, for n from the first to the last.
  ///
  /// The workload does with errors what a program would do, and checks afterwards; what it throws is a
  /// failure. It gets a copy of the disk to start from, with the fault planned.
  ///
  /// - Returns: How many faults struck, and one line for each case that failed.
  package static func run(
    _ variants: [Variant] = everyVariant, from start: SimulatedDisk = SimulatedDisk(), limit: Int = 10_000,
    _ run: @Sendable (SimulatedDisk, Fault.Kind) throws -> Void
  ) -> (struck: Int, failures: [String]) {
    var struck = 0
    var failures: [String] = []
    for variant in variants {
      for passing in 0..<limit {
        let disk = start.copy()
        let fault = Fault(variant.kind, of: variant.calls, passing: passing, lasts: variant.lasts)
        disk.plan(fault)
        do { try run(disk, variant.kind) } catch {
          let struckCall = disk.firedFaults.first.map { "\($0.call.rawValue) \($0.name)" } ?? "none"
          failures.append("\(fault), which was \(struckCall): \(error)")
        }
        if disk.firedFaults.isEmpty { break }
        struck += 1
      }
    }
    return (struck, failures)
  }
}
