// The examples of the article "Keeping your app's own structs", line for line, and what it says of paths that
// are no field's.

import Foundation
import Notelog
import Testing

struct Login: Hashable, Identifiable {
  struct Secrets: Hashable {
    var password = ""
    var note = ""
  }
  var id = UUID()
  var site = ""
  var user: String?
  var changed = Date()
  var secrets = Secrets()
}

struct KeptLogin: Record {
  var login = Login()
  var id: RecordID {
    get { RecordID(login.id) }
    set { login.id = newValue.uuid }
  }
  static let schema = Schema<KeptLogin>("login") {
    Plain("site", \.login.site, indexed: true)
    Plain("user", \.login.user, indexed: true)
    Plain("changed", \.login.changed, indexed: true)
    Sealed("password", \.login.secrets.password)
    Sealed("note", \.login.secrets.note)
    Unique(\.login.site, \.login.user)
  }
}

extension Entry<KeptLogin> {
  var site: String { get throws { try value(of: \.login.site) } }
  var password: String { get throws { try value(of: \.login.secrets.password) } }
}

@Suite struct YourOwnStructsArticle {
  /// A store with three logins, of which the first was changed long ago.
  private static func make() throws -> (store: Store, logins: [Login]) {
    let store = try Store.inMemory()
    let logins = (0..<3).map { number in
      Login(
        site: "site \(number)", user: "me", changed: Date(timeIntervalSinceReferenceDate: Double(number)),
        secrets: Login.Secrets(password: "password \(number)", note: "note"))
    }
    try store.putAll(logins.map { KeptLogin(login: $0) })
    return (store, logins)
  }

  @Test func `the article's examples do what it says`() throws {
    let (store, logins) = try Self.make()
    let lastWeek = Date(timeIntervalSinceReferenceDate: 1)
    try store.putAll(logins.map { KeptLogin(login: $0) })
    let recent = try store.query(KeptLogin.self)
      .where(\.login.changed, in: lastWeek...)
      .sorted(by: \.login.site)
      .entries()
    for entry in recent { print(try entry.value(of: \.login.site)) }
    #expect(try recent.map { try $0.site } == ["site 1", "site 2"])
    #expect(store.metrics.fieldsOpened == 0)
    #expect(try recent[0].password == "password 1" && store.metrics.fieldsOpened == 1)
    let login = try recent[0].record().login
    #expect(login == logins[1])
    let before = store.metrics.fieldsOpened
    try store.write { tx in
      try tx.update(KeptLogin.self, RecordID(login.id)) { draft in
        draft.set(\.login.secrets.password, "correct horse")
        draft.set(\.login.changed, Date())
      }
    }
    #expect(store.metrics.fieldsOpened == before)
    let id = RecordID(login.id)
    var changed = try #require(try store.get(KeptLogin.self, id)?.record().login)
    #expect(changed.secrets == Login.Secrets(password: "correct horse", note: "note"))
    changed.secrets.note = "another"
    try store.write { tx in try tx.put(KeptLogin(login: changed)) }
    #expect(try store.get(KeptLogin.self, id)?.record().login == changed)
    #expect(throws: NotelogError(.notUnique, "")) {
      try store.write { tx in try tx.put(KeptLogin(login: Login(site: "site 1", user: "me"))) }
    }
  }

  @Test func `a path that ends before a field is refused, in words that say how to read one`() throws {
    let (store, logins) = try Self.make()
    let id = RecordID(logins[0].id)
    let entry = try #require(try store.get(KeptLogin.self, id))
    do {
      _ = try entry.login.site
      Issue.record("the struct is no field")
    } catch let error as NotelogError {
      #expect(error.code == .invalidArgument && error.message.contains("\\KeptLogin.login:"))
      #expect(error.message.contains("value(of:"))
    }
    try store.write { tx in
      try tx.update(KeptLogin.self, id) { draft in
        draft.set(\.login.site, "moved")
        let copy = draft
        #expect(throws: NotelogError(.invalidArgument, "")) { _ = try copy.login.site }
        let site = try copy[dynamicMember: \.login.site]
        #expect(site == "moved")
      }
    }
    #expect(throws: NotelogError(.invalidArgument, "")) {
      try store.write { tx in
        try tx.update(KeptLogin.self, id) { $0.set(\.login, logins[1]) }
      }
    }
    #expect(try store.get(KeptLogin.self, id)?.site == "moved")
  }
}
