// One of several processes that write to a store in turns, and follow each other.
//
// Usage: SharingChild FOLDER SLOT SEED FIRST. It writes until it reads a line, then reads a revision in a
// second line, waits until it has heard of that, and closes the store. It says a line for each thing that
// happens:
//
//   open R              it hears of every commit from revision R on try PAIR N          it is about to write
//   number N to both records of a pair; a negative number removes them ack PAIR N R T      that was committed
//   at the time T, as revision R; 0 if it was a removal heard A B           it was told of the commits A to B
//   torn PAIR           it saw one half of somebody's transaction behind PAIR N       a pair of its own is
//   not what it wrote last suspended, resumed  it has given the lock back for good, and taken it again failed
//   TEXT         something threw
//
// Each line begins with the time in microseconds since the machine was started.

import Foundation
import Notelog
import Synchronization

struct Half: Record {
  var id = RecordID()
  var number = 0
  var filling = ""
  static let schema = Schema<Half>("half") {
    Plain("number", \.number, indexed: true)
    Sealed("filling", \.filling)
  }
}

struct Mistake: Error {}

/// Numbers from a seed.
struct Chance: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    return (state ^ state >> 29) &* 0x9E37_79B9_7F4A_7C15
  }
}

let pairCount = 8
let slotCount = 8
let folder = CommandLine.arguments[1]
guard let slot = Int(CommandLine.arguments[2]), let seed = UInt64(CommandLine.arguments[3]),
  let first = Int(CommandLine.arguments[4])
else { throw Mistake() }

/// Writes a line in one call: whoever kills the process sees all of it or nothing.
@Sendable func say(_ text: String) {
  let line = "\(DispatchTime.now().uptimeNanoseconds / 1000) \(text)\n"
  FileHandle.standardOutput.write(Data(line.utf8))
}

@Sendable func half(_ pair: Int, _ which: Int) -> RecordID {
  RecordID(UUID(uuid: (0, 0, 0, 0, 0, 0, 0x40, 0, 0x80, 0, 0, 0, 0, 0, UInt8(pair), UInt8(which))))
}

var options = Store.Options()
options.writing = .leased(idle: .milliseconds(5))
options.lockTimeout = .seconds(600)
options.compaction = .automatic
options.segmentByteCount = 64 << 10
let store = try Store.open(
  at: folder, unlocking: .key([UInt8](repeating: 7, count: 32)), options: options)

let isOver = Atomic(false)
let over = DispatchSemaphore(value: 0)
/// The revision to wait for at the end.
let lastRevision = Atomic<UInt64>(0)
let lastIsKnown = DispatchSemaphore(value: 0)
Thread.detachNewThread {
  _ = readLine()
  isOver.store(true, ordering: .relaxed)
  over.signal()
  lastRevision.store(readLine().flatMap(UInt64.init) ?? 0, ordering: .relaxed)
  lastIsKnown.signal()
}
let heard = Atomic<UInt64>(0)
let changes = store.changes()
let opened = store.info().nextRevision
heard.store(opened - 1, ordering: .relaxed)
say("open \(opened)")
Task.detached {
  for await change in changes {
    say(
      "heard \(change.revisions.lowerBound) \(change.revisions.upperBound)\(change.isComplete ? "" : " more")"
    )
    heard.store(change.revisions.upperBound, ordering: .relaxed)
  }
}

/// Looks at all pairs in one moment: both halves of each are of the same transaction.
func look() throws {
  let snapshot = store.snapshot()
  for pair in 0..<pairCount * slotCount {
    let (one, two) = (try snapshot.get(Half.self, half(pair, 0)), try snapshot.get(Half.self, half(pair, 1)))
    if try one?.number != two?.number { say("torn \(pair)") }
    guard let one, let two else { continue }
    if try one.filling != two.filling { say("torn \(pair)") }
  }
}

/// What this process wrote last to each of its pairs.
var last: [Int: Int] = [:]
var chance = Chance(state: seed)
var number = first
while !isOver.load(ordering: .relaxed) {
  do {
    switch Int.random(in: 0..<100, using: &chance) {
    case 0..<4:
      try store.suspend()
      say("suspended")
      pause(Int.random(in: 0..<50, using: &chance))
      try store.resume(waiting: .seconds(600))
      say("resumed")
    case 4..<6:
      try store.compact()
    case 6..<20:
      try look()
    default:
      let pair = slot * pairCount + Int.random(in: 0..<pairCount, using: &chance)
      number += 1
      let isRemoval = Int.random(in: 0..<8, using: &chance) == 0
      let value = isRemoval ? -number : number
      say("try \(pair) \(value)")
      let filling = String(repeating: "x", count: Int.random(in: 0..<2000, using: &chance))
      let durability: Durability = Int.random(in: 0..<4, using: &chance) == 0 ? .durable : .flushed
      try store.write(durability) { tx in
        let known = try tx.get(Half.self, half(pair, 0))?.number ?? 0
        if let last = last[pair], max(last, 0) != known { say("behind \(pair) \(known)") }
        for which in 0..<2 {
          if isRemoval {
            try tx.delete(Half.self, half(pair, which))
          } else {
            try tx.put(Half(id: half(pair, which), number: value, filling: filling))
          }
        }
      }
      last[pair] = value
      let time = DispatchTime.now().uptimeNanoseconds / 1000
      let revision = isRemoval ? 0 : try store.get(Half.self, half(pair, 0))?.revision ?? 0
      say("ack \(pair) \(value) \(revision) \(time)")
    }
  } catch { say("failed \(error)") }
  pause(Int.random(in: 0..<8, using: &chance))
}
// The others end as well; what was written last is to be heard, too. Who never hears of it says so by what it
// has not said.
lastIsKnown.wait()
for _ in 0..<6000 where heard.load(ordering: .relaxed) < lastRevision.load(ordering: .relaxed) { pause(10) }
try look()
try store.close()
say("closed")

/// Waits so long, or for the end.
func pause(_ milliseconds: Int) { _ = over.wait(timeout: .now() + .milliseconds(milliseconds)) }
