// Secrets that are asked for on a full screen, and not shown.

/// Some questions, one after another, of which the last may be asked twice.
public struct SecretPrompt {
  private let questions: [String]
  private let isNew: Bool
  private var answers: [String] = []
  private var typed = ""

  /// Asks questions, in their order.
  ///
  /// - Parameters:
  ///   - questions: What is asked.
  ///   - isNew: Whether the last answer is a new secret, which has to be typed twice.
  public init(_ questions: String..., isNew: Bool = false) {
    (self.questions, self.isNew) = (questions, isNew)
  }

  /// What a key has led to.
  public enum Outcome: Equatable {
    case typing
    /// All answers, without the repeated one.
    case answered([String])
    /// What was typed twice was not the same, and everything is asked for again.
    case different
  }

  /// Takes a key.
  public mutating func type(_ key: Key) -> Outcome {
    switch key {
    case .text(let character): typed.append(character)
    case .backspace: _ = typed.popLast()
    case .enter where !typed.isEmpty: return accept()
    default: break
    }
    return .typing
  }

  private mutating func accept() -> Outcome {
    defer { typed = "" }
    if answers.count == questions.count {
      if typed == answers.last { return .answered(answers) }
      answers = []
      return .different
    }
    answers.append(typed)
    return isNew || answers.count < questions.count ? .typing : .answered(answers)
  }

  /// The question, and a dot for each character of the answer.
  public var row: Row {
    let question = answers.count < questions.count ? questions[answers.count] : "the same once more: "
    return Row(question) + Row(String(repeating: "•", count: typed.count)) + .cursor
  }
}
