// The ways in which an app catches what the library throws, each a function that says how it ended.
//
// Every one of them must compile without a warning, optimised or not (decision 0079). They are an app's code:
// keep them as people write them.

import Foundation
import Notelog

struct Memo: Record {
  var id = RecordID()
  var time = Date()
  var text = ""
  static let schema = Schema<Memo>("memo") {
    Plain("time", \.time)
    Sealed("text", \.text)
  }
}

/// What an app throws itself.
enum AppError: Error {
  case missing
  case store(NotelogError)
}

/// A locked store with a few memos in it: reading a text throws `locked`, asking for another collection
/// throws `notFound`.
struct Catching {
  let store: Store
  let ids: [RecordID]

  func text(_ place: Int) throws -> String { try store.get(Memo.self, ids[place])?.text ?? "none" }

  // MARK: One call

  func asWhere() -> String {
    do {
      _ = try store.collection("none")
      return "found"
    } catch let error as NotelogError where error.code == .notFound {
      return "missing"
    } catch {
      return "failed: \(error)"
    }
  }

  func asWhereAndNoMore() throws -> String {
    do {
      return try text(0)
    } catch let error as NotelogError where error.code == .locked {
      return "locked"
    }
  }

  func catchWhere() -> String {
    do {
      return try text(0)
    } catch  where (error as? NotelogError)?.code == .locked {
      return "locked"
    } catch {
      return "failed: \(error)"
    }
  }

  func catchOneOfSeveral() throws -> String {
    let expected: Set<NotelogError.Code> = [.locked, .missingKey]
    do {
      return try text(0)
    } catch let error as NotelogError where expected.contains(error.code) {
      return error.code.rawValue
    }
  }

  func catchAll() -> String {
    do { return try text(0) } catch is NotelogError { return "ours" } catch { return "another's" }
  }

  func switchOnCode() -> String {
    do {
      return try text(0)
    } catch let error as NotelogError {
      switch error.code {
      case .locked: return "locked"
      case .notFound, .closed: return "missing"
      default: return "failed: \(error)"
      }
    } catch {
      return "failed: \(error)"
    }
  }

  func switchOnError() -> String {
    do {
      return try text(0)
    } catch {
      switch error {
      case let error as NotelogError where error.code == .locked: return "locked"
      case is NotelogError: return "another of theirs"
      default: return "failed: \(error)"
      }
    }
  }

  func optional() -> String { (try? text(0)) ?? "nil" }

  func result() -> String {
    switch Result(catching: { try text(0) }) {
    case .success(let text): return text
    case .failure(let error as NotelogError) where error.code == .locked: return "locked"
    case .failure(let error): return "failed: \(error)"
    }
  }

  // MARK: Loops and early exits

  func loopThatGoesOn() throws -> String {
    var lockedCount = 0
    for place in ids.indices {
      do {
        _ = try text(place)
      } catch let error as NotelogError where error.code == .locked {
        lockedCount += 1
        continue
      }
    }
    return "\(lockedCount) locked"
  }

  func loopThatBreaks() -> String {
    var tried = 0
    for place in ids.indices {
      do {
        tried += 1
        _ = try text(place)
      } catch let error as NotelogError where error.code == .locked {
        break
      } catch {
        return "failed: \(error)"
      }
    }
    return "after \(tried)"
  }

  /// This one, thrown typed, crashed the compiler.
  func loopWithGuard() throws -> String {
    for place in ids.indices {
      do {
        guard try text(place).isEmpty else { return "read" }
      } catch let error as NotelogError where error.code == .locked {
        continue
      }
    }
    return "none read"
  }

  func loopWithSeveralGuards(_ wanted: RecordID?) -> String {
    for id in ids {
      do {
        guard let wanted else { return "none wanted" }
        guard let entry = try store.get(Memo.self, id), entry.id != wanted else { continue }
        guard try entry.text.count > 2 else { break }
        return "read"
      } catch let error as NotelogError where error.code == .locked {
        return "locked"
      } catch {
        return "failed: \(error)"
      }
    }
    return "none"
  }

  func whileRetrying() -> String {
    var attempts = 0
    while attempts < 5 {
      do {
        guard attempts < 3 else { return "given up after \(attempts)" }
        return try text(0)
      } catch let error as NotelogError where error.code == .locked {
        attempts += 1
      } catch {
        break
      }
    }
    return "failed"
  }

  func guardTry() -> String {
    guard let name = try? store.collection("none").name else { return "missing" }
    return name
  }

  // MARK: Rethrown

  func rethrown() throws -> String {
    do {
      return try text(0)
    } catch let error as NotelogError where error.code == .notFound {
      return "missing"
    } catch {
      throw error
    }
  }

  func rethrownAsOurs() throws(AppError) -> String {
    do {
      return try text(0)
    } catch let error as NotelogError where error.code == .notFound {
      throw .missing
    } catch let error as NotelogError {
      throw .store(error)
    } catch {
      throw .missing
    }
  }

  func nested() throws -> String {
    do {
      do {
        return try text(0)
      } catch let error as NotelogError where error.code == .notFound {
        return "missing"
      }
    } catch let error as NotelogError where error.code == .locked {
      return "locked"
    }
  }

  // MARK: Closures

  func mapped() throws -> String {
    let texts = try ids.map { id in
      do {
        return try store.get(Memo.self, id)?.text ?? "none"
      } catch let error as NotelogError where error.code == .locked {
        return "-"
      }
    }
    return texts.joined()
  }

  func insideWrite() throws -> String {
    try store.write { tx in
      for id in ids {
        do {
          guard let entry = try tx.get(Memo.self, id) else { return "none" }
          _ = try entry.text
        } catch let error as NotelogError where error.code == .locked {
          try tx.update(Memo.self, id) { $0.set(\.time, Date(timeIntervalSince1970: 1)) }
        }
      }
      return "updated"
    }
  }

  func thrownThroughWrite() throws -> String {
    do {
      try store.write { tx in
        guard try tx.get(Memo.self, RecordID()) != nil else { throw AppError.missing }
      }
      return "written"
    } catch AppError.missing {
      return "the app's own"
    } catch let error as NotelogError where error.code == .conflict {
      return "conflict"
    }
  }

  func insideScan() throws -> String {
    var lockedCount = 0
    try store.scan(Memo.self) { entry in
      do {
        guard try entry.text.isEmpty else { return false }
      } catch let error as NotelogError where error.code == .locked {
        lockedCount += 1
      }
      return true
    }
    return "\(lockedCount) locked"
  }
}
