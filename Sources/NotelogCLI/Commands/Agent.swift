// `notelog agent`, `agent status` and `agent stop`: the process that keeps stores unlocked.
import Notelog

extension Command {
  static let agent: Command = Command(
    words: ["agent"], summary: "keep stores unlocked for a while, in this process",
    discussion: """
      It listens at $XDG_RUNTIME_DIR/notelog/agent, a socket in a folder that only the user can enter, and answers processes of the
      same user only. When it listens it prints one line, and is silent from then on. 'notelog unlock' starts one where none is running,
      and gives it what it keeps.

      It forgets a store when its time is over, on 'notelog lock', and all of them when it ends: on 'notelog agent stop', SIGTERM or Ctrl-C.
      It writes nothing to a disk, is left out of core dumps, and on Linux can't be looked into by other processes of the user.

      \(agentWarning)
      """,
    options: [agentFor, untilEmpty],
    examples: ["notelog agent --for 1h &": "an agent that keeps nothing longer than an hour"],
    run: done(runAgent))

  static let agentStatus: Command = Command(
    words: ["agent", "status"], summary: "say which stores are kept unlocked, and for how long",
    discussion: "It exits 1 where nothing is kept, or nothing of STORE.",
    positionals: [optionalStore], options: [.json], run: showKept)

  static let agentStop: Command = Command(
    words: ["agent", "stop"], summary: "have the agent forget everything, and end",
    run: done(stopAgent))

  fileprivate static let untilEmpty = Option(long: "until-empty", help: "end when nothing is kept any more")
  fileprivate static let agentFor = Option(
    long: "for", value: "TIME", help: "keep nothing longer than TIME, whatever is asked; 24h unless given")
}

private func runAgent(_ call: Invocation) throws {
  let seconds = try call.seconds(of: Command.agentFor, upTo: Command.keepSecondsMax)
  let path = try AgentServer.requiredFolderPath()
  Descriptor.closeInherited()
  var server = try AgentServer(
    at: path, secondsMax: seconds ?? Command.keepSecondsMax,
    endsWhenEmpty: call.has(Command.untilEmpty))
  try Console.out.writeNow("listening at \(Escaping.line(path))/\(AgentServer.socketName)\n")
  Descriptor.letGoOfStreams()
  server.run()
}

private func showKept(_ call: Invocation) throws -> ExitCode {
  let store = call.positionals.isEmpty ? nil : try call.storeID()
  var kept: [(store: String, seconds: UInt32?, keeper: RootKeeper)] = []
  let reply = try AgentMessage.list.ask()
  if case .stores(let stores) = reply {
    kept = stores.map { ($0.store.description, $0.seconds, .agent) }
  }
  kept += KernelKeyring.keys().map { ($0.name, nil, .kernel) }
  if let store { kept = kept.filter { $0.store == store.description } }
  for (store, seconds, keeper) in kept {
    let left = seconds.map { ", \(Duration.seconds(Int64($0)).shown) left" } ?? ""
    try call.print(
      Escaping.line("\(store)  kept by the \(keeper.rawValue)\(left)"),
      or: ["store": store, "keptBy": keeper.rawValue, "secondsLeft": seconds])
  }
  guard kept.isEmpty else { return .done }
  _ = try AgentServer.requiredFolderPath()
  throw ToolError(.no, reply == nil ? "nothing is kept, and no agent is running" : "nothing is kept")
}

private func stopAgent(_ call: Invocation) throws {
  _ = try AgentServer.requiredFolderPath()
  guard let reply = try AgentMessage.stop.ask() else { throw ToolError(.no, "no agent is running") }
  guard case .done = reply else { throw ToolError(.failed, "the agent refused to end") }
}
