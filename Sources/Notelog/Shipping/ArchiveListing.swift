// What an archive holds, by the names and lengths of its objects: FORMAT.md §26.

import NotelogBase
import NotelogFormat

/// The objects of an archive, arranged. What names say, bytes may belie.
struct ArchiveListing: Sendable {
  /// A segment of the log, as it is in an archive.
  struct LogSegment: Sendable {
    let branch: UInt32
    let number: UInt64
    let salt: UInt64
    var objects: [ArchivedObject] = []

    /// The objects that are all of it, or all up to where it was cut, the longest first.
    var whole: [ArchivedObject] {
      objects.filter { $0.kind == .log }.sorted { $0.byteCount > $1.byteCount }
    }
    var pieces: [ArchivedObject] { objects.filter { $0.kind == .piece } }
    fileprivate var key: [UInt64] { [UInt64(branch), number, salt] }
    /// Where the log stands behind what there is of it, and the highest time.
    var nextSequence: UInt64 { objects.map(\.end.nextSequence).max() ?? 0 }
    var time: UInt64 { objects.map(\.end.time).max() ?? 0 }

    /// The pieces that make a file from 0 on, one behind the other, the longest first, and of as long ones the latest.
    /// Of a piece counts what lies behind the one before.
    ///
    /// - Parameter isSound: Whether a piece's bytes are what its name says.
    /// - Returns: The pieces.
    func chain(_ isSound: (ArchivedObject) -> Bool = { _ in true }) -> [ArchivedObject] {
      var (chain, rest, end) = ([ArchivedObject](), pieces, 0)
      while let next = rest.indices.filter({
        rest[$0].range.lowerBound <= end && rest[$0].range.upperBound > end
      })
      .max(by: {
        (rest[$0].range.upperBound, rest[$0].end.time) < (rest[$1].range.upperBound, rest[$1].end.time)
      }) {
        let piece = rest.remove(at: next)
        guard isSound(piece) else { continue }
        chain.append(piece)
        end = piece.range.upperBound
      }
      return chain
    }
  }

  /// A branch of the log.
  struct LogBranch: Sendable {
    let prefix: UInt32
    /// In order of their numbers.
    let segments: [LogSegment]

    var nextSequence: UInt64 { segments.map(\.nextSequence).max() ?? 0 }
    var time: UInt64 { segments.map(\.time).max() ?? 0 }

    /// A time as a name has it that ends before a transaction: no earlier than those of what ends before, and no later
    /// than those of what ends behind. What lies ahead of the clock is no time.
    func time(_ time: UInt64, before next: UInt64, now: UInt64) -> UInt64 {
      let ends = segments.flatMap(\.objects).map(\.end).filter { $0.time <= now }
      let earliest = ends.filter { $0.nextSequence <= next }.map(\.time).max() ?? 0
      let latest = ends.filter { $0.nextSequence > next }.map(\.time).min() ?? ArchivedObject.timeMax
      return max(earliest, min(time, latest))
    }
  }

  /// The objects that are as long as their names say, by their names.
  private(set) var objects: [String: ArchivedObject] = [:]
  /// Those that are shorter, with as many bytes as they have, or longer: a transfer was interrupted.
  private(set) var cutShort: [ArchivedObject] = []
  /// What says which store it is of.
  var stores: [String] = []
  /// By branch, number and salt.
  private var log: [[UInt64]: LogSegment] = [:]
  private var wholes: [LiveEntry: [ArchivedObject]] = [:]

  /// The objects of an archive.
  init(_ archive: any Archive) throws(NotelogError) {
    let names: [String: Int]
    do { names = try archive.objects() } catch { throw NotelogError(archive: error, "listing the archive") }
    for (name, byteCount) in names {
      if ArchivedObject.isStore(name) { stores.append(name) }
      guard var object = ArchivedObject(name: name) else { continue }
      if object.kind == .keyring { object.range = 0..<byteCount }
      if byteCount == object.byteCount {
        add(object)
      } else {
        object.range = object.range.prefix(byteCount)
        cutShort.append(object)
      }
    }
  }

  /// Takes in an object.
  mutating func add(_ object: ArchivedObject) {
    guard objects.updateValue(object, forKey: object.name) == nil else { return }
    if let entry = object.entry { wholes[entry, default: []].append(object) }
    guard object.kind == .log || object.kind == .piece else { return }
    let segment = LogSegment(branch: object.end.branch, number: object.number, salt: object.salt)
    log[segment.key, default: segment].objects.append(object)
  }

  /// The branches, in order of their names.
  var branches: [LogBranch] {
    Dictionary(grouping: log.values, by: \.branch).sorted { $0.key < $1.key }.map { prefix, segments in
      LogBranch(prefix: prefix, segments: segments.sorted { ($0.number, $0.salt) < ($1.number, $1.salt) })
    }
  }

  /// The objects that are a finished segment, whole: there is one at most, unless somebody forged others.
  func whole(_ entry: LiveEntry) -> [ArchivedObject] { wholes[entry] ?? [] }

  /// What was to be a finished segment, and was cut short.
  func cutShort(_ entry: LiveEntry) -> ArchivedObject? {
    cutShort.first { ArchivedObject(name: $0.name)?.entry == entry }
  }

  /// A segment of the log on a branch; with nothing in it where there is none.
  func segment(_ number: UInt32, salt: UInt64, branch: UInt32) -> LogSegment {
    let segment = LogSegment(branch: branch, number: UInt64(number), salt: salt)
    return log[segment.key] ?? segment
  }

  /// The objects of a kind, in order of their names.
  func all(_ kind: ArchivedObject.Kind) -> [ArchivedObject] {
    objects.values.filter { $0.kind == kind }.sorted { $0.name < $1.name }
  }
}
