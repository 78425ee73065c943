// Runs each way of catching on a locked store, and prints how it ended.
//
// Usage: CatchingConsumer FOLDER

import Foundation
import Notelog

let store = try Store.create(
  at: CommandLine.arguments[1], unlocking: .key([UInt8](repeating: 1, count: 32)))
let memos = [Memo(text: "one"), Memo(text: "two")]
try store.putAll(memos)
store.lock(.everything)
let catching = Catching(store: store, ids: memos.map(\.id))

func say(_ name: String, _ body: () throws -> String) {
  do { print(name, try body()) } catch {
    print(name, "threw", error as? AppError != nil ? "ours" : "\(type(of: error))")
  }
}

func say(_ name: String, _ body: () async throws -> String) async {
  do { print(name, try await body()) } catch {
    print(name, "threw", error as? AppError != nil ? "ours" : "\(type(of: error))")
  }
}

say("asWhere") { catching.asWhere() }
say("asWhereAndNoMore") { try catching.asWhereAndNoMore() }
say("catchWhere") { catching.catchWhere() }
say("catchOneOfSeveral") { try catching.catchOneOfSeveral() }
say("catchAll") { catching.catchAll() }
say("switchOnCode") { catching.switchOnCode() }
say("switchOnError") { catching.switchOnError() }
say("optional") { catching.optional() }
say("result") { catching.result() }
say("loopThatGoesOn") { try catching.loopThatGoesOn() }
say("loopThatBreaks") { catching.loopThatBreaks() }
say("loopWithGuard") { try catching.loopWithGuard() }
say("loopWithSeveralGuards") { catching.loopWithSeveralGuards(RecordID()) }
say("whileRetrying") { catching.whileRetrying() }
say("guardTry") { catching.guardTry() }
say("rethrown") { try catching.rethrown() }
say("rethrownAsOurs") { try catching.rethrownAsOurs() }
say("nested") { try catching.nested() }
say("mapped") { try catching.mapped() }
say("insideWrite") { try catching.insideWrite() }
say("thrownThroughWrite") { try catching.thrownThroughWrite() }
say("insideScan") { try catching.insideScan() }
await say("asyncAsWhere") { try await catching.asyncAsWhere() }
await say("asyncCatchWhere") { await catching.asyncCatchWhere() }
await say("asyncLoopWithGuard") { try await catching.asyncLoopWithGuard() }
await say("asyncSwitch") { await catching.asyncSwitch() }
await say("insideTask") { await catching.insideTask() }
await say("outsideTask") { try await catching.outsideTask() }
await say("asyncLet") { try await catching.asyncLet() }
await say("taskGroup") { try await catching.taskGroup() }
await say("asyncWrite") { try await catching.asyncWrite() }
await say("asyncRethrown") { try await catching.asyncRethrown() }
try store.close()
