// The tool's entry: reads the arguments, runs the command they name, and answers with an exit code.
import Foundation

@main
enum NotelogTool {
  /// The version printed by `--version`.
  static let version = "0.1.0"

  static func main() {
    Platform.refuseCoreDumps()
    Platform.refuseBacktraces()
    Interrupt.install()
    let console = Console()
    exit(run(arguments: ProcessArguments.read(), console).rawValue)
  }

  /// Runs one command line to its end: the command's own answer, or the error it ended with, said on stderr.
  private static func run(arguments: [ProcessArguments.Word], _ console: Console) -> ExitCode {
    let invocation: Invocation
    do throws(ToolError) {
      invocation = try Parser(table: .standard, help: .help, version: .version).parse(
        try ProcessArguments.texts(arguments))
    } catch { return report(error, console) }
    var code: ExitCode
    do throws(ToolError) {
      code = try invocation.command.run(invocation, console)
      try console.out.flush()
    } catch { code = report(error, console) }
    return invocation.damage.say(on: console, after: code, invocation.positionals.first ?? "STORE")
  }

  private static func report(_ error: ToolError, _ console: Console) -> ExitCode {
    if error == .closedPipe { return .done }
    if error.code == .interrupted { return .interrupted }
    // What was printed before the error is still data; a second failure to print it adds nothing.
    try? console.out.flush()
    console.say("error", error.message)
    if let hint = error.hint { console.say("hint", hint) }
    return error.code
  }
}
