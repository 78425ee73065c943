// A record's directory and values: what is written is read, and nothing else is (FORMAT.md 7).

@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

private let sample = recordBody([
  BodyLine(number: 1, type: .date, value: [1, 2, 3, 4, 5, 6, 7, 8]),
  BodyLine(number: 2, type: .text, flags: [.sealed], key: 7, value: [UInt8](repeating: 9, count: 45)),
  BodyLine(
    number: 9, type: .text, flags: [.sealed, .padded, .compressed], key: 8,
    value: [UInt8](repeating: 5, count: 72)),
  BodyLine(number: 300, type: .integer, flags: [.optional], value: [0]),
])

private func check(_ bytes: [UInt8]) throws(NotelogError) {
  let body = try RecordBody(checking: bytes.rawSpan)
  var end = DirectoryWriter.byteCount(fieldCount: body.fieldCount)
  for entry in try body.entries() {
    precondition(entry.range.lowerBound == end && entry.range.upperBound <= bytes.count)
    end = entry.range.upperBound
    guard try body.find(entry.number) == entry else { throw NotelogError(.invalidArgument, "not found") }
  }
  precondition(end == bytes.count)
}

@Suite struct RecordBodyTests {
  @Test func `the beginning of a body has the same directory, or none`() throws {
    let all = try RecordBody(checking: sample.rawSpan).entries()
    let directoryByteCount = DirectoryWriter.byteCount(fieldCount: all.count)
    for count in 0...sample.count {
      let beginning = Array(sample.prefix(count))
      do {
        let entries = try RecordBody(checking: beginning.rawSpan, of: sample.count).entries()
        #expect(entries == all && count >= directoryByteCount)
      } catch {
        #expect(error.code == .damaged && count < directoryByteCount)
      }
      #expect(throws: NotelogError(.damaged, "")) {
        _ = try RecordBody(checking: beginning.rawSpan, of: sample.count + 1)
      }
    }
  }

  /// Whether a value, its seal taken off, can have this length.
  private func isPossible(_ length: Int, _ type: FieldType, _ flags: FieldFlags) -> Bool {
    if flags.contains(.padded) { return length >= Limits.paddingBucket }
    let presence = flags.contains(.optional) ? 1 : 0
    guard let fixed = type.fixedByteCount else { return length >= presence }
    return length == presence + fixed || (presence == 1 && length == 1)
  }

  @Test func `INV-D5 what is permitted at once is what the rules permit`() {
    var differences: [String] = []
    let lengths = Array(0..<90) + [1 << 31, (1 << 32) - 1]
    for type in Array(0..<20) + [31, 32, 63, 64, 128, 255] as [UInt8] {
      for flags in Array(0..<64) + [64, 65, 127, 128, 129, 255] as [UInt8] {
        for (key, length) in [0, 7].flatMap({ key in lengths.map { (key, $0) } }) {
          let head = UInt64(type) << 16 | UInt64(flags) << 24 | UInt64(key) << 32 | 5
          let known = FieldFlags(rawValue: flags)
          let isSealed = known.contains(.sealed)
          let isPermitted =
            FieldType(rawValue: type).map { type in
              known.isValid && !known.contains(.chunked) && isSealed == (key != 0)
                && isPossible(isSealed ? length - 40 : length, type, known)
            } ?? false
          if RecordBody.permits(UInt32(length), head) != isPermitted {
            differences.append("type \(type), flags \(flags), key \(key), length \(length)")
          }
        }
      }
    }
    #expect(differences == [])
  }

  /// What a reference says is authenticated where it is used: of one that was altered, the record's other
  /// fields know nothing.
  @Test func `a reference has its length, whatever it says`() throws {
    let long = BodyLine(
      number: 1, type: .text, flags: [.sealed], key: 7, value: [UInt8](repeating: 9, count: 45))
    func bytes(_ count: Int) -> [UInt8] {
      recordBody([
        long,
        BodyLine(
          number: 2, type: .bytes, flags: [.sealed, .chunked], key: 7,
          value: [UInt8](repeating: 7, count: count)),
      ])
    }
    let sound = bytes(64)
    try check(sound)
    let beginning = Array(sound.dropLast())
    let found = try RecordBody(checking: beginning.rawSpan, of: sound.count).find(1)
    #expect(found?.range == 28..<73)
    for count in [0, 24, 32, 40, 63, 65] {
      let broken = bytes(count)
      #expect(throws: NotelogError(.damaged, "")) { try check(broken) }
    }
  }

  @Test func `INV-D1 a body is its header, its directory and its values, to the byte`() throws {
    #expect(Array(sample.prefix(16)) == [1, 0, 4, 0, 1, 0, 7, 0, 0, 0, 0, 0, 8, 0, 0, 0])
    let body = try RecordBody(checking: sample.rawSpan)
    let found = (count: body.fieldCount, entry: try body.find(9), none: try body.find(3) ?? body.find(301))
    #expect(found.count == 4 && found.none == nil)
    let entry = try #require(found.entry)
    #expect(entry.type == .text && entry.flags == [.sealed, .padded, .compressed] && entry.keyReference == 8)
    #expect(entry.range == (4 + 48 + 8 + 45)..<(4 + 48 + 8 + 45 + 72))
    try check(sample)
    try check(emptyBody)
  }

  @Test func `a body cut at any byte, or longer by one, is refused`() {
    for length in 0..<sample.count {
      #expect(throws: NotelogError(.damaged, "")) { try check(Array(sample.prefix(length))) }
    }
    #expect(throws: NotelogError(.damaged, "")) { try check(sample + [0]) }
  }

  @Test func `INV-D2 numbers that don't ascend are refused`() {
    let line = BodyLine(number: 4, type: .boolean, value: [0])
    #expect(throws: NotelogError(.damaged, "")) { try check(recordBody([line, line])) }
    #expect(throws: NotelogError(.damaged, "")) {
      try check(recordBody([BodyLine(number: 0, type: .boolean, value: [0])]))
    }
  }

  @Test func `INV-D3 unknown types and flags, and flags that contradict each other, are refused`() {
    for raw in UInt8.min...UInt8.max where FieldType(rawValue: raw) == nil {
      var bytes = sample
      bytes[6] = raw
      #expect(throws: NotelogError(.damaged, "")) { try check(bytes) }
    }
    for raw in UInt8.min...UInt8.max {
      let flags = FieldFlags(rawValue: raw)
      let isSealed = flags.contains(.sealed)
      let bytes = recordBody([
        BodyLine(
          number: 1, type: .text, flags: flags, key: isSealed ? 1 : 0, value: [UInt8](repeating: 0, count: 80)
        )
      ])
      let isGood = raw < 16 && (isSealed || raw & 12 == 0) && (raw & 8 == 0 || raw & 4 != 0)
      if isGood {
        #expect(throws: Never.self) { try check(bytes) }
      } else {
        #expect(throws: NotelogError(.damaged, "")) { try check(bytes) }
      }
    }
  }

  @Test func `INV-D4 a sealed value names a key, and a plain one names none`() {
    #expect(throws: NotelogError(.damaged, "")) {
      try check(
        recordBody([
          BodyLine(number: 1, type: .text, flags: [.sealed], value: [UInt8](repeating: 0, count: 40))
        ]))
    }
    #expect(throws: NotelogError(.damaged, "")) {
      try check(recordBody([BodyLine(number: 1, type: .text, key: 1, value: [])]))
    }
  }

  @Test func `INV-D5 a value is as long as its type and its seal say`() {
    for length in 0...20 {
      let value = [UInt8](repeating: 0, count: length)
      let isPlain = (try? check(recordBody([BodyLine(number: 1, type: .date, value: value)]))) != nil
      #expect(isPlain == (length == 8))
      let isOptional =
        (try? check(recordBody([BodyLine(number: 1, type: .date, flags: .optional, value: value)]))) != nil
      #expect(isOptional == (length == 9 || length == 1))
    }
    #expect(throws: NotelogError(.damaged, "")) {
      try check(
        recordBody([
          BodyLine(number: 1, type: .text, flags: .sealed, key: 1, value: [UInt8](repeating: 0, count: 39))
        ]))
    }
    #expect(throws: NotelogError(.damaged, "")) {
      try check(
        recordBody([
          BodyLine(number: 1, type: .uuid, flags: .sealed, key: 1, value: [UInt8](repeating: 0, count: 55))
        ]))
    }
  }

  @Test func `the limit on fields holds, and another layout version is told apart`() {
    var bytes = sample
    bytes[2] = 1
    bytes[3] = 0x10
    #expect(throws: NotelogError(.damaged, "")) { try check(bytes) }
    bytes = sample
    bytes[0] = 2
    #expect(throws: NotelogError(.unsupportedVersion, "")) { try check(bytes) }
  }

  @Test(arguments: 0..<8) func `random damage never traps, and what is accepted is consistent`(seed: Int) {
    var generator = SeededGenerator(seed: UInt64(seed))
    for _ in 0..<20_000 {
      var bytes = sample
      for _ in 0..<Int.random(in: 1...6, using: &generator) {
        switch Int.random(in: 0..<4, using: &generator) {
        case 0 where !bytes.isEmpty:
          bytes[Int.random(in: 0..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
        case 1 where !bytes.isEmpty:
          let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
          bytes[Int.random(in: 0..<min(56, bytes.count), using: &generator)] ^= bit
        case 2: bytes.removeLast(Int.random(in: 0...min(9, bytes.count), using: &generator))
        default: bytes.append(.random(in: 0...255, using: &generator))
        }
      }
      do {
        try check(bytes)
      } catch {
        #expect(error.code == .damaged || error.code == .unsupportedVersion, "seed \(seed): \(bytes)")
      }
    }
  }
}

private let emptyBody: [UInt8] = [1, 0, 0, 0]
