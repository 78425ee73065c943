// What tells a published compaction from a torn tail: FORMAT.md §24, "The sources are deleted when the floor
// has passed".

@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct `The witness of a compaction` {
  /// The sources are gone, and what took their place is named by one transaction near the log's end. Where no
  /// floor lies above it, a flipped bit before its commit mark makes all of it a torn tail: it is cut, and
  /// every record with it.
  @Test func `damage beside a published compaction costs no record but its own`() throws {
    let disk = SimulatedDisk()
    let journal = try Journal.create(in: disk, storeID: key(99), options: .small)
    var model = try `Compaction`.fill(journal)
    // Somebody writes meanwhile: what is not synced yet lies between the floor and the publication.
    var step = 0
    let result = try journal.compact { _, _ in
      step += 1
      model[200 + step] = `Compaction`.body(200 + step, 0)
      return (try? journal.put(key(200 + step), `Compaction`.body(200 + step, 0), .buffered)) != nil
    }
    #expect(result.removedSegments > 2 && step > 1)
    // The process dies; the last the log holds is the publication.
    let image = disk.crashImageNow(.processKilled)
    let head = try #require(image.fileNames.last { $0.hasSuffix(".journal") && image.contents($0)?[10] == 1 })
    let frames = FrameMap(image).frames.filter { $0.segment == head }
    let kinds = [MappedFrame.record, MappedFrame.liveChange, MappedFrame.commit]
    let targets = frames.filter { kinds.contains($0.kind) }
    #expect(Set(targets.map(\.kind)) == Set(kinds))
    for frame in targets {
      for offset in frame.range {
        var bytes = try #require(image.contents(head))
        bytes[offset] ^= 1 << UInt8(offset % 8)
        let damaged = image.copy()
        damaged.replace(head, with: bytes)
        var options = JournalOptions.small
        options.acceptsUnprovenDamage = true
        let again = try Journal.open(in: damaged, options: options)
        for (number, body) in model where frame.kind != MappedFrame.record || key(number) != frame.key {
          #expect(try again.body(of: key(number)) == body, "\(number), with the bit at \(offset) flipped")
        }
      }
    }
  }
}
