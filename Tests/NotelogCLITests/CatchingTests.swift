// Apps catch the library's errors as they catch others'. While public calls threw typed, the usual `catch let
// error as NotelogError where …` warned, and with a `guard` in a loop around it crashed the compiler (Swift
// 6.3.1): decision 0079.
import Foundation
import Testing

@Suite struct CatchingTests {
  let bench: Workbench

  init() throws { bench = try Workbench() }

  @Test func `every way of catching catches`() throws {
    try bench.expect(
      "CatchingConsumer store",
      Workbench.Answer(
        out: """
          asWhere missing
          asWhereAndNoMore locked
          catchWhere locked
          catchOneOfSeveral locked
          catchAll ours
          switchOnCode locked
          switchOnError locked
          optional nil
          result locked
          loopThatGoesOn 2 locked
          loopThatBreaks after 1
          loopWithGuard none read
          loopWithSeveralGuards locked
          whileRetrying given up after 3
          guardTry missing
          rethrown threw NotelogError
          rethrownAsOurs threw ours
          nested locked
          mapped --
          insideWrite updated
          thrownThroughWrite the app's own
          insideScan 2 locked
          asyncAsWhere wrong
          asyncCatchWhere wrong
          asyncLoopWithGuard none read
          asyncSwitch missing
          insideTask wrong
          outsideTask locked
          asyncLet wrong
          taskGroup locked
          asyncWrite locked
          asyncRethrown threw ours

          """))
  }
}
