// The same in async code.

import Notelog

extension Catching {
  static let wrong = Credential.key([UInt8](repeating: 9, count: 32))

  func asyncAsWhere() async throws -> String {
    do {
      try await store.run { try $0.unlock(Self.wrong) }
      return "unlocked"
    } catch let error as NotelogError where error.code == .wrongPassword {
      return "wrong"
    }
  }

  func asyncCatchWhere() async -> String {
    do {
      try await store.run { try $0.unlock(Self.wrong) }
      return "unlocked"
    } catch  where (error as? NotelogError)?.code == .wrongPassword {
      return "wrong"
    } catch {
      return "failed: \(error)"
    }
  }

  func asyncLoopWithGuard() async throws -> String {
    for id in ids {
      do {
        guard let entry = try await store.run({ try $0.get(Memo.self, id) }) else { return "none" }
        guard try entry.value(of: \.text).isEmpty else { return "read" }
      } catch let error as NotelogError where error.code == .locked {
        continue
      }
    }
    return "none read"
  }

  func asyncSwitch() async -> String {
    do {
      _ = try await Store.open(at: "/nowhere/at/all")
      return "opened"
    } catch let error as NotelogError {
      switch error.code {
      case .notFound: return "missing"
      case .busy: return "busy"
      default: return "failed: \(error)"
      }
    } catch {
      return "failed: \(error)"
    }
  }

  func insideTask() async -> String {
    await Task {
      do {
        try await store.run { try $0.unlock(Self.wrong) }
        return "unlocked"
      } catch let error as NotelogError where error.code == .wrongPassword {
        return "wrong"
      } catch {
        return "failed: \(error)"
      }
    }.value
  }

  func outsideTask() async throws -> String {
    let task = Task { try await store.run { try $0.get(Memo.self, ids[0])?.value(of: \.text) ?? "none" } }
    do {
      return try await task.value
    } catch let error as NotelogError where error.code == .locked {
      return "locked"
    }
  }

  func asyncLet() async throws -> String {
    async let first = store.run { try $0.get(Memo.self, ids[0]) }
    async let second: Void = store.run { try $0.unlock(Self.wrong) }
    do {
      guard try await first != nil else { return "none" }
      try await second
      return "unlocked"
    } catch let error as NotelogError where error.code == .wrongPassword {
      return "wrong"
    }
  }

  func taskGroup() async throws -> String {
    do {
      return try await withThrowingTaskGroup(of: String.self) { group in
        for id in ids {
          group.addTask { try await store.run { try $0.get(Memo.self, id)?.value(of: \.text) ?? "none" } }
        }
        for try await text in group { return text }
        return "none"
      }
    } catch let error as NotelogError where error.code == .locked {
      return "locked"
    }
  }

  func asyncWrite() async throws -> String {
    let id = ids[0]
    do {
      try await store.write { tx in
        guard try tx.get(Memo.self, id) != nil else { throw AppError.missing }
        try tx.update(Memo.self, id) { $0.set(\.text, "new") }
      }
      return "written"
    } catch let error as NotelogError where error.code == .locked {
      return "locked"
    }
  }

  func asyncRethrown() async throws -> String {
    while true {
      do {
        return try await store.run { try $0.get(Memo.self, ids[0])?.value(of: \.text) ?? "none" }
      } catch let error as NotelogError where error.code == .busy {
        continue
      } catch let error as NotelogError {
        throw AppError.store(error)
      }
    }
  }
}
