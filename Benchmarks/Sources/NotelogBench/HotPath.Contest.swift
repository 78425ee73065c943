// One verb at one size: Notelog, the floor, and the others, on the same bytes.

import CAllocationCount
import CFloor
import NotelogBenchmarks

extension HotPath {
  /// What one thread works with: the floor's contexts, and a buffer for results.
  @safe
  final class Bench {
    let floor: OpaquePointer
    let output: UnsafeMutablePointer<UInt8>

    init(size: Int, key: [UInt8]) {
      // SAFETY: the key has thirty-two bytes; both are freed in deinit.
      unsafe floor = unsafe floor_new(key)
      unsafe output = UnsafeMutablePointer<UInt8>.allocate(capacity: size + 64)
    }

    deinit {
      unsafe floor_free(floor)
      unsafe output.deallocate()
    }

    /// The buffer's first bytes.
    func bytes(_ count: Int) -> [UInt8] {
      unsafe Array(UnsafeBufferPointer(start: output, count: count))
    }

    /// The buffer as Notelog takes it.
    func withSpan(_ count: Int, _ body: (inout MutableRawSpan) throws -> Void) rethrows {
      // SAFETY: the buffer holds at least as many bytes, and nobody else uses it meanwhile.
      var span = unsafe MutableRawSpan(_unsafeStart: output, byteCount: count)
      try body(&span)
    }
  }

  /// The contestants; each thread has a bench of its own.
  final class Contest: @unchecked Sendable {
    /// Does an operation so many times on a thread.
    typealias Body = @Sendable (_ thread: Int, _ count: Int) throws -> Void

    struct Failed: Error {}

    private let isSeal: Bool
    private let size: Int
    private let sealing: SealingBenchmark
    private let key: [UInt8]
    private let plaintext: [UInt8]
    private let benches: [Bench]
    /// Values to open: two of Notelog's, and one of each other scheme.
    private var sealed: [[UInt8]] = []
    private var sealedBySameKey: [UInt8] = []
    private var sealedByUsual: [UInt8] = []
    private var sealedByAncestor: [UInt8] = []

    // SAFETY: @unchecked because each thread uses its own bench only, and the rest does not change after
    // init.
    init(isSeal: Bool, size: Int, keyByte: UInt8) throws {
      self.isSeal = isSeal
      self.size = size
      sealing = try SealingBenchmark(keyByte: keyByte)
      let key = [UInt8](repeating: keyByte, count: 32)
      self.key = key
      plaintext = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 37) }
      benches = (0..<2).map { _ in Bench(size: size, key: key) }
      let whole = size + SealingBenchmark.overhead
      for _ in 0..<2 {
        try seal(0, 1)
        sealed.append(benches[0].bytes(whole))
      }
      try sameKeySeal(0, 1)
      sealedBySameKey = benches[0].bytes(whole)
      try usualSeal(0, 1)
      sealedByUsual = benches[0].bytes(whole)
      try ancestorSeal(0, 1)
      sealedByAncestor = benches[0].bytes(whole)
      try check()
    }

    var notelog: Body { isSeal ? seal : open }
    var floor: Body { isSeal ? floorSeal : floorOpen }

    /// What others do, by name.
    var peers: [(name: String, body: Body)] {
      isSeal
        ? [
          ("evp", evpSeal), ("same-key", sameKeySeal), ("hkdf-per-call", usualSeal),
          ("ancestor", ancestorSeal),
        ]
        : [
          ("evp", evpOpen), ("same-key", sameKeyOpen), ("hkdf-per-call", usualOpen),
          ("ancestor", ancestorOpen),
        ]
    }

    /// Allocations of one operation, counted over many; nil where they can't be counted.
    func allocations(over count: Int) throws -> Double? {
      guard allocation_count() >= 0 else { return nil }
      let body = notelog
      try body(0, 1)
      let none = allocation_count()
      try body(0, 0)
      let overhead = allocation_count() - none
      // Counted twice: what others do in the process may allocate meanwhile, but hardly in two counts
      // running.
      let counts = try (0..<2).map { _ in
        let before = allocation_count()
        try body(0, count)
        return allocation_count() - before - overhead
      }
      return Double(counts.min() ?? 0) / Double(count)
    }

    /// That Notelog and the floor open each other's values: both do the same work.
    private func check() throws {
      try floorOpen(0, 1)
      guard benches[0].bytes(size) == plaintext else { throw Failed() }
      let original = sealed
      defer { sealed = original }
      try floorSeal(0, 1)
      sealed[0] = benches[0].bytes(size + SealingBenchmark.overhead)
      try open(0, 1)
      guard benches[0].bytes(size) == plaintext else { throw Failed() }
    }

    // MARK: Notelog

    @Sendable private func seal(_ thread: Int, _ count: Int) throws {
      let (plaintext, additionalData) = (plaintext, HotPath.additionalData)
      try benches[thread].withSpan(size + SealingBenchmark.overhead) { output in
        // SAFETY: arrays of bytes are initialised throughout; here and below.
        try unsafe sealing.seal(
          plaintext.span.bytes, additionalData: additionalData.span.bytes, into: &output, count: count)
      }
    }

    @Sendable private func open(_ thread: Int, _ count: Int) throws {
      let (first, second, additionalData) = (sealed[0], sealed[1], HotPath.additionalData)
      try benches[thread].withSpan(size) { output in
        try unsafe sealing.open(
          first.span.bytes, second.span.bytes, additionalData: additionalData.span.bytes, into: &output,
          count: count)
      }
    }

    // MARK: C

    /// One of C's functions that work with contexts of their own.
    private typealias Call =
      @convention(c) (
        OpaquePointer, UnsafePointer<UInt8>, Int, UnsafePointer<UInt8>, Int, UnsafeMutablePointer<UInt8>, Int
      ) -> Int32

    private func call(_ function: Call, _ thread: Int, _ input: [UInt8], _ count: Int) throws {
      let data = HotPath.additionalData
      // SAFETY: the bench's buffer is larger than a sealed value by some bytes; here and below.
      let failed = unsafe function(
        benches[thread].floor, input, size, data, data.count, benches[thread].output, count)
      if failed != 0 { throw Failed() }
    }

    @Sendable private func floorSeal(_ thread: Int, _ count: Int) throws {
      try unsafe call(floor_seal, thread, plaintext, count)
    }

    @Sendable private func floorOpen(_ thread: Int, _ count: Int) throws {
      try unsafe call(floor_open, thread, sealed[0], count)
    }

    @Sendable private func evpSeal(_ thread: Int, _ count: Int) throws {
      try unsafe call(evp_seal, thread, plaintext, count)
    }

    @Sendable private func evpOpen(_ thread: Int, _ count: Int) throws {
      try unsafe call(evp_open, thread, sealed[0], count)
    }

    @Sendable private func sameKeySeal(_ thread: Int, _ count: Int) throws {
      try unsafe call(same_key_seal, thread, plaintext, count)
    }

    @Sendable private func sameKeyOpen(_ thread: Int, _ count: Int) throws {
      try unsafe call(same_key_open, thread, sealedBySameKey, count)
    }

    @Sendable private func usualSeal(_ thread: Int, _ count: Int) throws {
      let data = HotPath.additionalData
      let failed = unsafe usual_seal(key, plaintext, size, data, data.count, benches[thread].output, count)
      if failed != 0 { throw Failed() }
    }

    @Sendable private func usualOpen(_ thread: Int, _ count: Int) throws {
      let data = HotPath.additionalData
      let failed = unsafe usual_open(
        key, sealedByUsual, size, data, data.count, benches[thread].output, count)
      if failed != 0 { throw Failed() }
    }

    @Sendable private func ancestorSeal(_ thread: Int, _ count: Int) throws {
      let failed = unsafe ancestor_seal(key, plaintext, size, benches[thread].output, count)
      if failed != 0 { throw Failed() }
    }

    @Sendable private func ancestorOpen(_ thread: Int, _ count: Int) throws {
      let failed = unsafe ancestor_open(key, sealedByAncestor, size, benches[thread].output, count)
      if failed != 0 { throw Failed() }
    }
  }
}
