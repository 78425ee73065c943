// Where the agent's socket is: in a folder of the user's own, in XDG_RUNTIME_DIR.
import Foundation

/// The agent's folder and socket.
struct AgentPlace: Sendable {
  static let socketName = "agent"

  let folder: String
  var socket: String { folder + "/" + Self.socketName }

  /// The place that the environment says; nil where it says none.
  init?() {
    guard let runtime = ProcessInfo.processInfo.environment["XDG_RUNTIME_DIR"], runtime.hasPrefix("/") else {
      return nil
    }
    folder = runtime + "/notelog"
  }

  /// The same, where there must be one.
  static func required() throws(ToolError) -> AgentPlace {
    guard let place = AgentPlace() else {
      throw ToolError(
        .failed, "no agent can be reached: XDG_RUNTIME_DIR is not set",
        hint: "set it to a folder that only you can enter, and that is no disk's")
    }
    return place
  }
}
