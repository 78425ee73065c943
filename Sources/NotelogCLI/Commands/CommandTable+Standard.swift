// The commands of the tool, in the order in which help lists them.

extension CommandTable {
  static let standard: CommandTable = CommandTable([
    .initialize, .add, .get, .set, .remove, .list, .search, .dump, .watch, .importRecords, .export, .verify,
    .compact,
    .info,
    .salvage, .backup, .restore, .accept,
    .unlock, .lock, .agentStatus, .agentLock, .agentStop, .agent,
    .passwordAdd, .passwordChange, .passwordRemove, .keyList, .keyAdd, .keyRotate,
    .keyShred, .keyRecovery, .keyGrant, .generateMan, .generateCompletions,
  ])
}
