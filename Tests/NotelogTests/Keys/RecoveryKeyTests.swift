// Recovery keys: their text, and every way of typing it wrongly (SECURITY.md, A1).

import Testing

@testable import Notelog

@Suite struct RecoveryKeyTests {
  private static let letters = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ")

  private func bytes(_ text: String) throws -> [UInt8]? {
    guard case .recoveryKey(let bytes) = try Credential.recoveryKey(text: text) else { return nil }
    return bytes
  }

  @Test func `a recovery key opens the store, however its letters are written`() throws {
    let folder = try TemporaryFolder()
    let store = try folder.create()
    try store.putAll([Note(title: "Clark")])
    let text = try store.addRecoveryKey()
    #expect(text.wholeMatch(of: /N1[0-9A-Z]{4}(-[0-9A-Z]{6}){9}/) != nil)
    let other = try store.addRecoveryKey()
    #expect(other != text)
    try store.close()
    let loose = text.lowercased().replacing("0", with: "o").replacing("1", with: "l")
    for typed in [text, loose, text.replacing("-", with: " "), text.replacing("-", with: "") + "\n"] {
      let opened = try folder.open(.recoveryKey(text: typed))
      #expect(try opened.query(Note.self).first()?.title == "Clark")
      try opened.close()
    }
    #expect(throws: NotelogError(.wrongPassword, "")) {
      try folder.open(.recoveryKey([UInt8](repeating: 1, count: 32)))
    }
  }

  @Test func `every letter typed wrongly, left out, doubled or exchanged with the next is found`() throws {
    for seed in UInt8(0)..<2 {
      let secret = (UInt8(0)..<32).map { ($0 &* 37 &+ seed) ^ (seed << 5) }
      let text = Credential.recoveryText(secret)
      #expect(try bytes(text) == secret)
      let symbols = Array(text.replacing("-", with: ""))
      #expect(symbols.count == 60)
      func isRefused(_ typed: [Character], in group: Int? = nil) {
        let error = #expect(throws: NotelogError.self) { try bytes(String(typed)) }
        #expect(error?.code == .invalidArgument)
        if let group {
          #expect(error?.message.contains("in group \(group)") == true, "\(error?.message ?? "")")
        }
      }
      for place in symbols.indices {
        for letter in Self.letters where letter != symbols[place] {
          var typed = symbols
          typed[place] = letter
          isRefused(typed, in: place / 6 + 1)
        }
        var less = symbols
        less.remove(at: place)
        isRefused(less)
        var more = symbols
        more.insert(symbols[place], at: place)
        isRefused(more)
        for other in symbols.indices.dropFirst(place + 1) where symbols[other] != symbols[place] {
          var typed = symbols
          typed.swapAt(place, other)
          isRefused(typed)
        }
      }
    }
  }

  @Test func `what is no recovery key is refused without being shown`() throws {
    let text = Credential.recoveryText([UInt8](repeating: 7, count: 32))
    for typed in [
      "", "N1", "not a key", text + text, text.replacing("N", with: "U"), text.replacing("1", with: "é"),
    ] {
      let error = #expect(throws: NotelogError.self) { try bytes(typed) }
      #expect(error?.code == .invalidArgument)
      #expect(error.map { !$0.message.contains(String(text.dropFirst(8).prefix(6))) } == true)
    }
  }
}
