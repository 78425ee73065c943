// The commands of the tool, in the order in which help lists them.

extension CommandTable {
  static let standard: CommandTable = CommandTable([
    .generateMan, .generateCompletions,
  ])
}
