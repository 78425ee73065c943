// This device's secret is durable before anything depends on it: crashes while it is made, and while the
// first key that needs it is.

import NotelogBase
import NotelogTestSupport
import Testing

@testable import Notelog
@testable import NotelogCrypto

@Suite struct DeviceSecretCrashTests {
  private static func file(_ disk: SimulatedDisk) -> DeviceSecretFile {
    DeviceSecretFile(storage: disk, folder: "notelog", name: "device-secret") { true }
  }

  private static func secret(_ disk: SimulatedDisk, making: Bool = false) throws -> [UInt8]? {
    guard let secret = try file(disk).load(making: making) else { return nil }
    return secret.bytes.array()
  }

  @Test func `a secret that was given out is there after any crash, and none that is half made`() throws {
    let disk = SimulatedDisk()
    #expect(try Self.secret(disk) == nil)
    let given = try #require(try Self.secret(disk, making: true))
    #expect(try Self.secret(disk, making: true) == given && given.count == 32)
    for loss in LossModel.allCases {
      for seed in 0..<20 {
        #expect(try Self.secret(disk.crashImageNow(loss, seed: UInt64(seed))) == given, "\(loss)")
      }
    }
    var outcomes: Set<Bool> = []
    for call in disk.crashPoints {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let found = try Self.secret(image)
        #expect(found == nil || found == given, "after \(disk.describe(call: call)), \(loss)")
        outcomes.insert(found == nil)
      }
    }
    #expect(outcomes == [true, false] && disk.crashPoints.count >= 8)
  }

  @Test func `what a process that died left behind is made durable before it is given out`() throws {
    let disk = SimulatedDisk()
    _ = try Self.secret(disk, making: true)
    var inherited = 0
    for call in disk.crashPoints {
      // The process dies, another one makes it or finds it, and then the power fails.
      let image = disk.crashImage(after: call, .processKilled, seed: 1)
      let before = try Self.secret(image)
      let given = try #require(try Self.secret(image, making: true))
      #expect(before == nil || before == given)
      inherited += before == nil ? 0 : 1
      for loss in LossModel.allCases {
        let found = try Self.secret(image.crashImageNow(loss, seed: UInt64(call)))
        #expect(found == given, "after \(disk.describe(call: call)), \(loss)")
      }
    }
    #expect(inherited > 0)
  }

  @Test func `a key that needs this device's secret never comes to be without it`() throws {
    let disk = SimulatedDisk()
    func options(_ disk: SimulatedDisk) -> Store.Options {
      var options = Store.Options()
      options.segmentByteCount = 16 << 10
      options.deviceSecret = .kept { making in try Self.secret(disk, making: making) }
      return options
    }
    let store = try Store.create(in: disk, unlocking: TemporaryFolder.key, options: options(disk))
    let start = disk.callCount
    try store.createKey("log", .alwaysThisDeviceOnly)
    var states: Set<StoreInfo.KeyState?> = []
    for call in disk.crashPoints where call >= start {
      for loss in LossModel.allCases {
        let image = disk.crashImage(after: call, loss, seed: UInt64(call))
        let opened = try Store.open(in: image, unlocking: nil, options: options(image))
        states.insert(opened.info().keys.first?.state)
        try opened.close()
      }
    }
    #expect(states == [nil, .open])
    try store.close()
  }
}
