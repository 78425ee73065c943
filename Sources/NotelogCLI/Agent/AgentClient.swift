// Where the agent's socket is: in a folder of the user's own, in XDG_RUNTIME_DIR.

import Foundation
import Notelog

extension AgentServer {
  /// The socket's name in the agent's folder.
  static let socketName = "agent"

  /// The path of the agent's folder, as the environment says; nil where it says none.
  static var folderPath: String? {
    let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"] ?? ""
    return runtime.hasPrefix("/") ? runtime + "/notelog" : nil
  }

  /// The same, where there must be one.
  static func requiredFolderPath(_ failure: String = "no agent can be reached") throws -> String {
    if let folderPath { return folderPath }
    throw ToolError(
      .failed, "\(failure): XDG_RUNTIME_DIR is not set",
      hint: "set it to a folder that only you can enter, and that is no disk's")
  }
}

// MARK: - Asking the agent, and starting one.

extension AgentMessage {
  /// How long an answer is waited for, in milliseconds.
  private static let timeout = 2000

  /// Asks the agent.
  ///
  /// - Returns: Its answer; nil where there is no agent.
  /// - Throws: Where what listens there may not be asked, or does not answer.
  func ask() throws -> AgentMessage? {
    guard let path = AgentServer.folderPath else { return nil }
    let message = try self.message()
    // One that was about to end answers nobody; where it was, there is nobody then, or another one.
    for _ in 0..<2 {
      guard let folder = try Descriptor.privateFolder(path),
        folder.holdsSocket(AgentServer.socketName),
        let socket = Descriptor.connect(to: path + "/" + AgentServer.socketName, milliseconds: Self.timeout)
      else { return nil }
      if socket.send(message),
        let answer = socket.receive(byteCountMax: Self.replySizeMax, milliseconds: Self.timeout)
      {
        guard let reply = AgentMessage(answer) else { break }
        return reply
      }
    }
    throw ToolError(.failed, "the agent does not answer as an agent of this version does")
  }
}

/// Where an unlock root is kept between commands.
enum RootKeeper: String, CaseIterable, Sendable {
  case agent, kernel

  /// The root that is kept of a store; nil where nobody keeps one. What stands in the way is said, and no
  /// reason to stop: there is the password.
  static func find(_ store: RecordID) -> SecretBytes? {
    do {
      if case .kept(let root?) = try AgentMessage.root(store).ask() { return root }
    } catch { Console.say("warning", ToolError(any: error).message) }
    let key = KernelKeyring.keys().first { $0.name == store.description }
    return key.flatMap { KernelKeyring.read($0.number, byteCount: AgentMessage.rootSize) }
  }

  /// Keeps a store's root for so long.
  func keep(_ root: SecretBytes, of store: RecordID, seconds: UInt32) throws {
    switch self {
    case .kernel: try KernelKeyring.keep(root, named: store.description, seconds: seconds)
    case .agent:
      let request = AgentMessage.keep(store, seconds: seconds, root: root)
      var reply = try request.ask()
      if reply == nil {
        try Self.startAgent()
        reply = try request.ask()
      }
      switch reply {
      case .done: return
      case .full:
        throw ToolError(
          .failed, "the agent keeps as many stores as it can", hint: "'notelog lock' forgets them")
      case nil: throw ToolError(.failed, "the agent could not be started", hint: "'notelog agent' says why")
      default: throw ToolError(.failed, "the agent refused")
      }
    }
  }

  /// Has both forget a store's root, or all.
  static func forget(_ store: RecordID?) throws {
    // The kernel first: whatever the agent says, that is done.
    for key in KernelKeyring.keys() where store == nil || key.name == store?.description {
      try KernelKeyring.forget(key.number)
    }
    switch try AgentMessage.forget(store).ask() {
    case .done, nil: return
    default: throw ToolError(.failed, "the agent refused to forget")
    }
  }

  /// Starts an agent that goes on by itself, and ends when it keeps nothing any more.
  private static func startAgent() throws {
    let tool = Bundle.main.executablePath ?? ProcessInfo.processInfo.arguments[0]
    let program = try Program.start([tool, "agent", "--until-empty"], isDetached: true)
    // One line says that it listens. Where it ends without one, another agent may have been faster.
    _ = try Input(borrowing: program.output.number, name: "the agent's answer").readSecret(
      upTo: 256, isLine: true)
  }
}
