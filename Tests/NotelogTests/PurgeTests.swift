// After a purge nothing is in the store's files of what was overwritten or deleted, however little that is.

import Foundation
import Testing

@testable import Notelog

private struct Element: Record {
  var id = RecordID()
  var name = ""
  var symbol = ""
  static let schema = Schema<Element>("element") {
    Plain("name", \.name, indexed: true)
    Sealed("symbol", \.symbol)
  }
}

@Suite struct PurgeTests {
  let folder: TemporaryFolder
  let store: Store
  private let first = Element(name: "Quicksilver", symbol: "Hg")

  init() throws {
    folder = try TemporaryFolder()
    store = try folder.create()
    try store.putAll([first])
  }

  /// The store's files that hold a text in the clear.
  private func files(with text: String) throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
      let bytes = FileManager.default.contents(atPath: "\(folder.path)/\(name)")
      return bytes?.range(of: Data(text.utf8)) != nil
    }
  }

  /// Two bugs: the head was left alone where less was dead than its footer would take, and the orders in the
  /// file `index` had the keys of what was deleted.
  @Test(arguments: [0, 1, 600, 5_000], [false, true])
  func `one record among many leaves nothing behind`(otherCount: Int, isDeleted: Bool) throws {
    try store.putAll((0..<otherCount).map { Element(name: "number \($0)", symbol: "\($0)") })
    #expect(try store.query(Element.self).where(\.name, is: "Quicksilver").count() == 1)
    try store.write { tx in
      if isDeleted {
        try tx.delete(Element.self, first.id)
      } else {
        try tx.update(Element.self, first.id) { $0.set(\.name, "Mercury") }
      }
    }
    try store.purge()
    #expect(try files(with: "Quicksilver") == [])
    #expect(try store.versions(of: first.id).count == (isDeleted ? 0 : 1))
    #expect(try store.query(Element.self).where(\.name, is: "Quicksilver").count() == 0)
    #expect(try store.query(Element.self).where(\.name, is: "Mercury").count() == (isDeleted ? 0 : 1))
    try store.close()
    #expect(try files(with: "Quicksilver") == [])
    #expect(try Store.verify(at: folder.path, unlocking: TemporaryFolder.key).findings == [])
  }
}
