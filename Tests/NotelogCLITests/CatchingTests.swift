// Apps catch the library's errors as they catch others'. While public calls threw typed, the usual `catch let error as NotelogError where …`
// warned, and with a `guard` in a loop around it crashed the compiler (Swift 6.3.1): docs/decisions/0079.
import Foundation
import Testing

@Suite struct CatchingTests {
  static let consumer = Page.root.appending(path: "Tests/Children/CatchingConsumer")

  let bench: Workbench

  init() throws { bench = try Workbench() }

  /// Compiles Swift files as an app's.
  private func compile(_ files: [String], _ optimisation: String) throws -> Workbench.Answer {
    try bench.compile(files, "-c \(optimisation) -wmo -o consumer.o")
  }

  private func sources() throws -> [String] {
    try FileManager.default.contentsOfDirectory(atPath: Self.consumer.path).filter { $0.hasSuffix(".swift") }
      .map { Self.consumer.appending(path: $0).path }
  }

  @Test(arguments: ["-Onone", "-O"])
  func `every way of catching compiles without a warning`(_ optimisation: String) throws {
    let answer = try compile(try sources(), optimisation)
    #expect(answer.code == 0, "\(answer.out)")
  }

  @Test func `what would warn is noticed`() throws {
    try bench.write(
      "typed.swift",
      """
      import Notelog
      func text() throws(NotelogError) -> String { throw NotelogError(.locked, "") }
      func read() -> String {
        do { return try text() } catch let error as NotelogError where error.code == .locked { return "" } catch { return "" }
      }
      """)
    let answer = try compile(["typed.swift"], "-Onone")
    #expect(answer.code != 0)
    #expect(answer.out.contains("'as' test is always true"), "\(answer.out)")
  }

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
