// The notes that every engine stores: the same for the same seed.
import CPeers
import Foundation
import Notelog

/// The notes, as the peers' C code has them and as ours takes them.
@safe final class Dataset: Sendable {
  // SAFETY: made in init, never changed afterwards, freed in deinit.
  nonisolated(unsafe) let peers: UnsafeMutablePointer<CPeers.dataset>
  /// The notes as ours takes them: each in one place, as the peers' are.
  let notes: [Note]
  /// A substring that some bodies hold.
  let needle: String

  /// Makes notes: of random letters, or of pieces of English text.
  init(count: Int, english: [UInt8] = []) throws {
    // SAFETY: the text is copied before the call returns.
    let made = unsafe english.withUnsafeBufferPointer { text in
      unsafe text.withMemoryRebound(to: CChar.self) {
        unsafe datasetCreate(count, 1, $0.isEmpty ? nil : $0.baseAddress, $0.count)
      }
    }
    guard let made = unsafe made else { throw Failure("no memory for \(count) notes") }
    unsafe peers = made
    var notes: [Note] = []
    notes.reserveCapacity(count)
    for index in 0..<count {
      // SAFETY: the dataset has `count` notes, whose text lies within its text.
      let note = unsafe made.pointee.notes[index]
      let text = unsafe UnsafeRawBufferPointer(
        start: made.pointee.text + note.textStart, count: Int(note.titleByteCount + note.bodyByteCount))
      notes.append(
        Note(
          id: RecordID(UUID(uuid: note.id)), time: Date(timeIntervalSince1970: Double(note.time) / 1000),
          title: unsafe String(decoding: text.prefix(Int(note.titleByteCount)), as: UTF8.self),
          body: unsafe String(decoding: text.dropFirst(Int(note.titleByteCount)), as: UTF8.self)))
    }
    self.notes = notes
    var needleByteCount = 0
    // SAFETY: the needle lies in the dataset's text and is copied.
    let start = unsafe datasetNeedle(made, &needleByteCount)
    needle = unsafe String(
      decoding: UnsafeRawBufferPointer(start: start, count: needleByteCount), as: UTF8.self)
  }

  // SAFETY: freed once, when nobody uses it any more.
  deinit { unsafe datasetDestroy(peers) }

  var count: Int { notes.count }

  /// The bytes of ids, times, titles and bodies.
  // SAFETY: the dataset lives as long as this value.
  var logicalByteCount: Int { unsafe datasetLogicalByteCount(peers) }

  /// Numbers of notes at random, the same for the same seed.
  func picks(_ count: Int, seed: UInt64) -> [UInt32] {
    let limit = self.count
    return unsafe [UInt32](unsafeUninitializedCapacity: count) { buffer, initialized in
      // SAFETY: the call fills exactly `count` numbers.
      unsafe datasetPick(buffer.baseAddress, count, limit, seed)
      initialized = count
    }
  }

  /// What is to be read where notes are picked at random.
  func wanted(_ count: Int, seed: UInt64) -> Wanted {
    let picks = picks(count, seed: seed)
    let notes = unsafe [wantedNote](unsafeUninitializedCapacity: count) { buffer, initialized in
      // SAFETY: the call fills one note for each pick.
      unsafe datasetWant(peers, picks, count, buffer.baseAddress)
      initialized = count
    }
    return Wanted(notes: notes, ids: notes.map { RecordID(UUID(uuid: $0.id)) })
  }

  /// Numbers of notes at random, none of them twice within a batch.
  func distinctPicks(_ count: Int, batch: Int, seed: UInt64) -> [UInt32] {
    precondition(batch <= self.count, "a batch has no more notes than there are")
    var picks = self.picks(count, seed: seed)
    for start in stride(from: 0, to: count, by: batch) {
      var seen: Set<UInt32> = []
      for index in start..<min(start + batch, count) {
        while !seen.insert(picks[index]).inserted { picks[index] = (picks[index] + 1) % UInt32(self.count) }
      }
    }
    return picks
  }

  /// English prose of this machine, where there is enough of it.
  static func englishText() -> [UInt8] {
    var text: [UInt8] = []
    for folder in ["/usr/share/common-licenses", "/usr/share/doc", "/usr/share/perl", "/usr/lib/python3"] {
      let files = FileManager.default.enumerator(atPath: folder)
      while let name = files?.nextObject() as? String, text.count < 4 << 20 {
        let isProse = folder.hasSuffix("licenses") || name.hasSuffix(".txt") || name.hasSuffix("copyright")
        guard isProse, let data = FileManager.default.contents(atPath: folder + "/" + name) else { continue }
        text += data.filter { $0 < 128 }
      }
    }
    return text
  }
}

/// Notes to be read one after another.
struct Wanted {
  /// With their ids as the peers take them.
  let notes: [wantedNote]
  /// Their ids as the library takes them.
  let ids: [RecordID]

  func prefix(_ count: Int) -> Wanted {
    Wanted(notes: Array(notes.prefix(count)), ids: Array(ids.prefix(count)))
  }
}

extension wantedNote {
  // SAFETY (of both): the calls read the bytes that they are told of, and nothing of them is kept.
  func isTitle(_ text: RawSpan) -> Bool {
    unsafe withUnsafePointer(to: self) { wanted in
      unsafe text.withUnsafeBytes { unsafe isWantedTitle(wanted, $0.baseAddress, $0.count) }
    }
  }

  func isBody(_ text: RawSpan) -> Bool {
    unsafe withUnsafePointer(to: self) { wanted in
      unsafe text.withUnsafeBytes { unsafe isWantedBody(wanted, $0.baseAddress, $0.count) }
    }
  }
}
