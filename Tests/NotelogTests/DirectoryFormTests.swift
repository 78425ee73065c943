// What a directory is like is remembered: it must make no difference but in time (FORMAT.md 7).

@testable import NotelogBase
import NotelogJournal
import NotelogTestSupport
import Testing

@testable import Notelog

/// What looking a field up gave.
private enum Answer: Equatable {
  case entry(FieldEntry?)
  case refused(String)
}

private func answer(_ body: () throws(NotelogError) -> FieldEntry?) -> Answer {
  do throws(NotelogError) { return .entry(try body()) } catch { return .refused(error.description) }
}

/// What whoever has seen no body before finds in one of so many bytes, which begins with these.
private func fresh(_ number: UInt16, in bytes: [UInt8], of byteCount: Int) -> Answer {
  answer { () throws(NotelogError) in
    try RecordBody(checking: bytes.rawSpan, of: byteCount).find(number)
  }
}

private func note(
  _ title: Int, _ body: Int, due: Int = 9, key: UInt32 = 7, isCompressed: Bool = false
) -> [UInt8] {
  recordBody([
    BodyLine(number: 1, type: .date, value: [UInt8](repeating: 1, count: 8)),
    BodyLine(number: 2, type: .text, flags: .sealed, key: key, value: [UInt8](repeating: 2, count: title)),
    BodyLine(
      number: 5, type: .text, flags: isCompressed ? [.sealed, .padded, .compressed] : [.sealed, .padded],
      key: key, value: [UInt8](repeating: 3, count: body)),
    BodyLine(number: 8, type: .date, flags: .optional, value: [UInt8](repeating: 0, count: due)),
  ])
}

@Suite struct DirectoryFormTests {
  @Test func `fields are found where they are, in bodies alike and unlike, one after the other`() {
    let others = [
      recordBody([]), recordBody([BodyLine(number: 2, type: .boolean, value: [1])]),
      recordBody((1...70).map { BodyLine(number: $0, type: .boolean, value: [0]) }),
      recordBody([
        BodyLine(number: 2, type: .bytes, flags: [.sealed, .chunked], key: 7, value: reference)
      ]),
    ]
    let bodies =
      [note(40, 72), note(99, 500), note(41, 72, due: 1), note(40, 72, key: 8), note(300, 80)]
      + others.flatMap { [$0, note(50, 90), $0, $0] }
    var form = DirectoryForm()
    for bytes in bodies {
      for number in [0, 1, 2, 3, 5, 8, 70, 71, .max] as [UInt16] {
        let found = answer { () throws(NotelogError) in
          try form.find(number, checking: bytes.rawSpan, of: bytes.count)
        }
        #expect(found == fresh(number, in: bytes, of: bytes.count))
      }
    }
  }

  @Test func `a body that breaks a rule is refused behind one that is like it and doesn't`() throws {
    let sound = note(45, 80)
    var form = DirectoryForm()
    var refusedCount = 0
    for place in 0..<sound.count {
      for change in [1, 2, 4, 8, 16, 32, 64, 128, 0x55, 0xFF] as [UInt8] {
        try form.check(sound.rawSpan, of: sound.count)
        var bytes = sound
        bytes[place] ^= change
        let found = answer { () throws(NotelogError) in
          try form.find(2, checking: bytes.rawSpan, of: bytes.count)
        }
        if case .refused = found { refusedCount += 1 }
        #expect(found == fresh(2, in: bytes, of: bytes.count), "byte \(place), \(change)")
      }
    }
    #expect(refusedCount > 300)
  }

  @Test func `lengths that a value can't have are refused behind ones that it can`() throws {
    var form = DirectoryForm()
    for lengths in [(39, 72, 9), (40, 71, 9), (40, 72, 0), (40, 72, 2), (40, 72, 8), (40, 72, 10)] {
      let sound = note(40, 72)
      try form.check(sound.rawSpan, of: sound.count)
      let bytes = note(lengths.0, lengths.1, due: lengths.2)
      let found = answer { () throws(NotelogError) in
        try form.find(2, checking: bytes.rawSpan, of: bytes.count)
      }
      #expect(found == fresh(2, in: bytes, of: bytes.count) && found != .entry(nil), "\(lengths)")
      if case .entry = found { Issue.record("\(lengths) were taken") }
    }
  }

  @Test func `of a body that is cut off or longer, and of its beginning, the same is said`() throws {
    let sound = note(45, 80)
    var form = DirectoryForm()
    for count in 0...sound.count {
      for byteCount in [count, sound.count, sound.count + 1, Limits.recordBytes + 1] where byteCount >= count
      {
        try form.check(sound.rawSpan, of: sound.count)
        let beginning = Array(sound.prefix(count))
        let found = answer { () throws(NotelogError) in
          try form.find(5, checking: beginning.rawSpan, of: byteCount)
        }
        #expect(found == fresh(5, in: beginning, of: byteCount), "\(count) of \(byteCount)")
      }
    }
  }

  @Test func `a body like the one before is taken by comparing it, whether values are compressed or absent`()
    throws
  {
    var form = DirectoryForm()
    let first = note(45, 80)
    #expect(form.compare(first.rawSpan, of: first.count, lookingFor: 2) == nil)
    try form.check(first.rawSpan, of: first.count)
    for bytes in [note(40, 72), note(46, 999, due: 1), note(46, 999, isCompressed: true)] {
      let found = form.compare(bytes.rawSpan, of: bytes.count, lookingFor: 2)
      #expect(found?.offset == 16 && found?.start == 60)
    }
    let other = note(45, 80, key: 8)
    #expect(form.compare(other.rawSpan, of: other.count, lookingFor: 2) == nil)
  }

  @Test func `nothing is like nothing`() throws {
    let large = recordBody([
      BodyLine(number: 1, type: .bytes, flags: [.sealed, .chunked], key: 7, value: reference)
    ])
    // A header alone, of nothing or of what was seen before.
    for bytes in [[0, 0, 0, 0], [1, 0, 4, 0], [1, 0, 1, 0]] as [[UInt8]] {
      var form = DirectoryForm()
      for seen in [[], [note(45, 80)], [note(45, 80), large], [large]] as [[[UInt8]]] {
        for body in seen { try form.check(body.rawSpan, of: body.count) }
        let found = answer { () throws(NotelogError) in
          try form.find(1, checking: bytes.rawSpan, of: bytes.count)
        }
        #expect(found == fresh(1, in: bytes, of: bytes.count))
        guard case .refused = found else {
          Issue.record("a header alone was taken")
          return
        }
      }
    }
  }

  @Test func `no record is longer than one can be`() throws {
    let sound = note(45, 80)
    var form = DirectoryForm()
    for excess in [0, 1] {
      try form.check(sound.rawSpan, of: sound.count)
      // So long a title that the record has just the limit's length, or a byte more.
      var bytes = sound
      let length = UInt32(Limits.recordBytes + excess - (sound.count - 45))
      bytes.withBytes(in: 24..<28) { span in span.store(length, at: 0) }
      let found = answer { () throws(NotelogError) in
        try form.find(1, checking: bytes.rawSpan, of: Limits.recordBytes + excess)
      }
      #expect(found == fresh(1, in: bytes, of: Limits.recordBytes + excess))
      if case .refused = found { #expect(excess == 1) } else { #expect(excess == 0) }
    }
  }

  @Test func `the length of a reference to a large value is looked at in each record`() throws {
    func bytes(_ reference: [UInt8]) -> [UInt8] {
      recordBody([BodyLine(number: 1, type: .bytes, flags: [.sealed, .chunked], key: 7, value: reference)])
    }
    var form = DirectoryForm()
    let sound = bytes(reference)
    try form.check(sound.rawSpan, of: sound.count)
    let broken = bytes([UInt8](repeating: 7, count: ValueReference.storedByteCount - 1))
    let found = answer { () throws(NotelogError) in
      try form.find(1, checking: broken.rawSpan, of: broken.count)
    }
    #expect(found == fresh(1, in: broken, of: broken.count))
    guard case .refused = found else {
      Issue.record("a broken reference was taken")
      return
    }
  }

  @Test(arguments: 0..<4) func `random damage is told the same as by whoever has seen nothing`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    var form = DirectoryForm()
    for _ in 0..<20_000 {
      var bytes = note(
        .random(in: 38...60, using: &generator), .random(in: 70...90, using: &generator),
        due: [1, 9, 9, 9, 8].randomElement(using: &generator) ?? 9)
      for _ in 0..<Int.random(in: 0...2, using: &generator) {
        bytes[.random(in: 0..<52, using: &generator)] ^=
          UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
      }
      let number = UInt16.random(in: 0...9, using: &generator)
      let found = answer { () throws(NotelogError) in
        try form.find(number, checking: bytes.rawSpan, of: bytes.count)
      }
      #expect(found == fresh(number, in: bytes, of: bytes.count), "seed \(seed): \(bytes)")
    }
  }
}

/// What stands in the place of a large value.
private let reference = [UInt8](repeating: 7, count: ValueReference.storedByteCount)
