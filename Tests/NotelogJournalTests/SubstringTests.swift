// Whether bytes occur in others: sixteen places are looked at at once.

@testable import NotelogBase
@testable import Notelog
import NotelogTestSupport
import Testing

@Suite struct SubstringTests {
  /// One place after another.
  private func occurs(_ needle: [UInt8], in hay: [UInt8]) -> Bool {
    guard hay.count >= needle.count else { return false }
    return (0...hay.count - needle.count).contains { hay[$0..<$0 + needle.count].elementsEqual(needle) }
  }

  private func finds(_ needle: [UInt8], in hay: [UInt8]) -> Bool { hay.rawSpan.contains(needle.rawSpan) }

  @Test func `bytes are found at any place, by their first and last byte and all between`() {
    for hayCount in 0...70 {
      for needleCount in 0...40 {
        var needle = [UInt8](repeating: 98, count: needleCount)
        if needleCount > 1 { (needle[0], needle[needleCount - 1]) = (97, 99) }
        var hay = [UInt8](repeating: 98, count: hayCount)
        #expect(finds(needle, in: hay) == occurs(needle, in: hay))
        guard needleCount <= hayCount else { continue }
        for place in 0...hayCount - needleCount {
          hay.replaceSubrange(place..<place + needleCount, with: needle)
          #expect(finds(needle, in: hay), "\(needleCount) bytes at \(place) of \(hayCount)")
          if needleCount > 2 {
            hay[place + needleCount / 2] = 100
            #expect(
              !finds(needle, in: hay), "\(needleCount) bytes at \(place) of \(hayCount), one of them another")
          }
          hay = [UInt8](repeating: 98, count: hayCount)
        }
      }
    }
  }

  /// Where beginning and end are everywhere, each place would cost as much as the needle is long: hours.
  @Test func `a long needle is looked for in a time that both lengths bound`() {
    let hay = [UInt8](repeating: 97, count: 8 << 20)
    var needle = [UInt8](repeating: 97, count: 4 << 20)
    #expect(finds(needle, in: hay))
    needle[2 << 20] = 98
    #expect(!finds(needle, in: hay))
  }

  /// Few letters, so that beginnings and ends are everywhere.
  @Test func `what is found is what one place after another finds`() {
    var random = SeededGenerator(seed: 8)
    var foundCount = 0
    let roundCount = 50_000
    for _ in 0..<roundCount {
      let letters: ClosedRange<UInt8> = 97...UInt8.random(in: 97...99, using: &random)
      let hay = (0..<Int.random(in: 0...120, using: &random)).map { _ in
        UInt8.random(in: letters, using: &random)
      }
      let needle = (0..<Int.random(in: 1...36, using: &random)).map { _ in
        UInt8.random(in: letters, using: &random)
      }
      let isThere = occurs(needle, in: hay)
      #expect(finds(needle, in: hay) == isThere)
      foundCount += isThere ? 1 : 0
    }
    #expect(foundCount > roundCount / 10 && foundCount < roundCount / 2)
  }
}
