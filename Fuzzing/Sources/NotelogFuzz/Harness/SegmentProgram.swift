// Segments described frame by frame: checksums, lengths and marks fit unless a frame says otherwise.
// FORMAT.md 4 to 6.

@testable import NotelogBase
@testable import NotelogStorage
@testable import Notelog
@testable import NotelogFormat

/// A segment as an input describes it.
struct SegmentProgram {
  /// A frame as an input describes it.
  struct Frame {
    /// What about it is to be wrong, or left as the payload has it.
    struct Tweaks: OptionSet {
      let rawValue: UInt8
      /// The payload of a mark, live set or footer is as given; otherwise what it says of its place and of
      /// other segments is made to fit.
      static let isRaw = Tweaks(rawValue: 1)
      static let hasBadHeader = Tweaks(rawValue: 2)
      static let hasBadPayload = Tweaks(rawValue: 4)
      static let hasBadPadding = Tweaks(rawValue: 8)
      static let isShort = Tweaks(rawValue: 16)
      static let hasEnvelope = Tweaks(rawValue: 32)
      static let hasReservedFlag = Tweaks(rawValue: 64)
      static let followsZeros = Tweaks(rawValue: 128)
    }

    var kind: UInt8
    var tweaks: Tweaks
    var collection: UInt16
    var sequence: UInt64
    var id: UInt8
    var payload: [UInt8]
  }

  /// What about the segment is to be wrong.
  struct Tweaks: OptionSet {
    let rawValue: UInt8
    static let hasBadHeader = Tweaks(rawValue: 1)
    static let hasBadCopy = Tweaks(rawValue: 2)
    static let hasForeignName = Tweaks(rawValue: 4)
    static let countsOneMore = Tweaks(rawValue: 8)
    static let hasZerosBehind = Tweaks(rawValue: 16)
    static let lacksTrailer = Tweaks(rawValue: 32)
  }

  static let frameCountMax = 200

  var number: UInt32
  var tweaks: Tweaks
  var kind: UInt16
  var firstSequence: UInt64
  var floor: LogPosition
  var sources: [LogPosition]
  var frames: [Frame]

  /// Reads what ``append(to:)`` writes.
  init(_ input: inout InputReader) {
    number = input.integer()
    tweaks = Tweaks(rawValue: input.integer())
    kind = UInt16(input.integer(UInt8.self))
    firstSequence = input.integer()
    floor = LogPosition(segment: input.integer(), offset: Int(input.integer(UInt32.self)))
    sources = (0..<Int(input.integer(UInt8.self)) % (FormatLimits.maximumSources + 1)).map { _ in
      LogPosition(segment: input.integer(), offset: Int(input.integer(UInt32.self)))
    }
    frames = []
    while frames.count < Self.frameCountMax {
      let kind: UInt8 = input.integer()
      if kind == 0 { break }
      frames.append(
        Frame(
          kind: kind, tweaks: Frame.Tweaks(rawValue: input.integer()), collection: input.integer(),
          sequence: input.integer(), id: input.integer(), payload: input.counted()))
    }
  }

  /// The segment with its records' zeros left out, and the floor where nothing depends on their lengths.
  var trimmed: SegmentProgram {
    var trimmed = self
    trimmed.floor.offset = Layout.firstFrameOffset
    for index in frames.indices {
      switch FrameKind(rawValue: frames[index].kind) {
      case .record, .chunk:
        let zeros = frames[index].payload.reversed().prefix { $0 == 0 }.count
        trimmed.frames[index].payload.removeLast(max(0, min(zeros, frames[index].payload.count - 24)))
      case .commit:
        trimmed.frames[index].payload.set(UInt64(0), at: 8)
      default: break
      }
    }
    return trimmed
  }

  func append(to input: inout [UInt8]) {
    input.append(integer: number)
    input.append(integer: tweaks.rawValue)
    input.append(integer: UInt8(kind))
    input.append(integer: firstSequence)
    input.append(integer: floor.segment)
    input.append(integer: UInt32(floor.offset))
    input.append(integer: UInt8(sources.count))
    for source in sources {
      input.append(integer: source.segment)
      input.append(integer: UInt32(source.offset))
    }
    for frame in frames {
      input.append(integer: frame.kind)
      input.append(integer: frame.tweaks.rawValue)
      input.append(integer: frame.collection)
      input.append(integer: frame.sequence)
      input.append(integer: frame.id)
      input.append(counted: frame.payload)
    }
    input.append(0)
  }

  /// Takes a sound segment apart.
  init(takingApart file: [UInt8]) throws {
    let header = try SegmentHeader(file.rawSpan, at: 0)
    number = header.number
    tweaks = []
    kind = header.kind.rawValue
    firstSequence = header.firstSequence
    floor = header.floor
    sources = header.sources
    frames = []
    var place = Layout.firstFrameOffset
    let salt = SegmentSalt(header.salt)
    while place + Layout.frameHeaderByteCount <= file.count {
      guard let frame = FrameHeader(file.rawSpan, at: place, salt: salt, place: place) else { break }
      let payload =
        place + Layout.frameHeaderByteCount..<place + Layout.frameHeaderByteCount + frame.payloadByteCount
      frames.append(
        Frame(
          kind: frame.kind.rawValue, tweaks: frame.hasEnvelope ? .hasEnvelope : [],
          collection: frame.collection,
          sequence: frame.sequence, id: SampleStore.byte(of: frame.id),
          payload: frame.kind == .footer ? [] : Array(file[payload])))
      place += frame.frameByteCount
    }
  }
}
