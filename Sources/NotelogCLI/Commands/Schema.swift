// `notelog schema show STORE`, and what changes schemas: `schema add`, `seal`, `rename` and `retire`.
import Notelog

extension Command {
  static let schemaShow: Command = Command(
    words: ["schema", "show"], summary: "show the collections and their fields",
    discussion: """
      With --json it is what 'init --schema' takes, without retired fields and references. Without a password keys have numbers and no names;
      --unlock shows them.
      """,
    positionals: [.store, .collection(isOptional: true)], options: [.unlock, .json],
    examples: ["notelog schema show my.notelog --unlock --json >s.json": "for 'init --schema'"],
    run: showSchema)

  static let schemaAdd: Command = Command(
    words: ["schema", "add"], summary: "add fields in the clear, or a collection",
    discussion: """
      Whoever has the files reads what is in the clear; 'schema seal' adds fields that are sealed. TYPE is \(types). Fields that are added are
      optional, as the records that are there have no value. A collection that is not there is made.

      \(dryRun)
      """,
    positionals: [.store, .collection(), newFields], options: [indexed, .yes],
    examples: ["notelog schema add my.notelog note stars=integer --indexed": "adds a number"],
    run: done(addFields))

  static let schemaSeal: Command = Command(
    words: ["schema", "seal"], summary: "add fields that are sealed",
    discussion: """
      They are sealed under the key that --under names, which is made where it is missing ('key add' makes one that can be shredded, for
      instance), or else under the store's own. A field that is there keeps its key, and one in the clear is never sealed: add another one, move
      the values, and retire it. What was in the clear stays in the store's files until 'notelog compact STORE --purge'.

      \(dryRun)
      """,
    positionals: [.store, .collection(), newFields], options: [under, padded, .yes],
    examples: ["notelog schema seal my.notelog note pin=text --under secrets": "adds a sealed text"],
    run: done(addFields))

  static let schemaRename: Command = Command(
    words: ["schema", "rename"], summary: "rename a field, or a collection",
    discussion: """
      No record is written anew. An app that declares the former name goes on with it.

      \(dryRun)
      """,
    positionals: [
      .store, .collection(),
      Positional(name: "FIELD", completion: .fields, isOptional: true, help: "the field"),
      Positional(name: "NEW", help: "the new name of the field or, without FIELD, of the collection"),
    ], options: [.yes], run: done(rename))

  static let schemaRetire: Command = Command(
    words: ["schema", "retire"], summary: "take fields out of use for good",
    discussion: """
      Their values are taken out of all records, and stay in the store's files until 'notelog compact STORE --purge'. Their names are not used
      again.

      \(dryRun)
      """,
    positionals: [
      .store, .collection(), Positional(name: "FIELD", completion: .fields, repeats: true, help: "a field"),
    ], options: [.yes], run: done(retireFields))

  private static let types = FieldType.allCases.map(\.name).joined(separator: ", ")
  private static let dryRun = "It says what will change, and asks; nothing is changed before the answer."

  private static let newFields = Positional(name: "NAME=TYPE", repeats: true, help: "a field and its type")

  fileprivate static let indexed = Option(long: "indexed", help: "keep an index, to sort and search by")
  fileprivate static let under = Option(
    long: "under", value: "KEY", completion: .keys, help: "seal them under this key")
  fileprivate static let padded = Option(long: "padded", help: "hide how long values are, about")
}

private func showSchema(_ call: Invocation) throws -> ExitCode {
  try call.withStore(.ifGiven, readOnly: true) { store in
    let isWhole = try store.hasAllSchemas()
    let named = try call.positionals.dropFirst().first.map { [try store.collection(given: $0)] }
    let collections = named ?? store.collections
    let json = collections.map { collection -> JSONValue in
      ["name": collection.name, "fields": collection.fieldsInUse]
    }
    let lines = collections.flatMap { collection in
      let width = collection.fields.map(\.name.count).max() ?? 0
      return [Console.styled(Escaping.line(collection.name), .bold)]
        + collection.fields.map { field in
          let words = field.isRetired ? "retired" : field.words
          return Escaping.line("  \(field.name.padded(to: width))  \(words)")
        }
    }
    try call.print(lines, or: ["collections": json])
    return isWhole ? .done : .damage
  }
}

// MARK: - Changes, which are said before they are made.

/// What is to become of a collection.
private struct SchemaChange {
  var name: String
  var formerly: String?
  var fields: [FieldDescription] = []
  var retiring: [String] = []
  /// What is said of it.
  var words: [String] = []
}

extension Invocation {
  /// Says what will change, asks, and changes it.
  fileprivate func change(_ plan: (Store) throws -> SchemaChange) throws {
    try withStore(
      .required,
      asking: { store in
        let change = try plan(store)
        for line in change.words { Console.say("note", line) }
        if !has(.yes) { try Console.confirm("change the schema?") }
        return change
      }
    ) { store, _, change in
      try store.createCollection(
        change.name, formerly: change.formerly, fields: change.fields, retiring: change.retiring)
      if change.retiring.isEmpty { return }
      let collection = try store.collection(given: change.name)
      var ids: [RecordID] = []
      try collection.query().onDamage { _ in }.forEach { entry in
        if entry.fields.contains(where: { !$0.isInSchema }) { ids.append(entry.id) }
        return true
      }
      for start in stride(from: 0, to: ids.count, by: 100) {
        try store.write { tx in
          for id in ids[start...].prefix(100) { try tx.update(in: collection, id, [:]) }
        }
      }
      Console.say(
        "note",
        "\(counted(ids.count, "record")) written without; 'notelog compact \(self.store) --purge' takes what was before out of the files"
      )
    }
  }
}

private func addFields(_ call: Invocation) throws {
  let isSealed = call.command.words == Command.schemaSeal.words
  let key = call.value(of: Command.under) ?? defaultKeyName
  try call.change { store in
    let collection = try? store.collection(call.positionals[1])
    var change = SchemaChange(name: collection?.name ?? call.positionals[1])
    if collection == nil { change.words.append("the collection '\(change.name)' is made") }
    if isSealed, !store.info().keys.contains(where: { $0.name == key }) {
      change.words.append("the key '\(key)' is made")
    }
    for field in try Assignment.all(call.positionals.dropFirst(2)) {
      let (name, type) = (field.name, try FieldType(named: field.text ?? "", of: "'\(field.name)'"))
      try collection?.checkNew(name)
      let sealed = FieldDescription.sealed(
        name, type, key: key, padded: call.has(Command.padded), optional: true)
      let plain = FieldDescription.plain(name, type, indexed: call.has(Command.indexed), optional: true)
      change.fields.append(isSealed ? sealed : plain)
      let place = isSealed ? "sealed under '\(key)'" : "in the clear for whoever has the files"
      change.words.append("'\(change.name)' gets the field '\(name)': \(type.name), \(place)")
    }
    return change
  }
}

private func rename(_ call: Invocation) throws {
  let new = call.positionals[call.positionals.count - 1]
  try call.change { store in
    let collection = try store.collection(everNamed: call.positionals[1])
    guard call.positionals.count > 3 else {
      if let known = try? store.collection(new), known.number != collection.number {
        throw ToolError(.failed, "there is a collection '\(new)' already")
      }
      let words = "the collection '\(collection.name)' becomes '\(new)'"
      return SchemaChange(name: new, formerly: collection.name, words: [words])
    }
    let old = try collection.field(call.positionals[2])
    if new != old.firstName { try collection.checkNew(new) }
    // A field and the one that names its keys are declared together.
    let related = collection.fieldsInUse.filter { field in
      field.name == old.name || field.name == old.keyField || field.keyField == old.name
    }
    var change = SchemaChange(name: collection.name, fields: related.map { FieldDescription($0) })
    for index in related.indices {
      if related[index].name == old.name { change.fields[index].name = new }
      if related[index].keyField == old.name { change.fields[index].keyField = new }
    }
    change.words = ["'\(old.name)' of '\(collection.name)' becomes '\(new)'"]
    return change
  }
}

private func retireFields(_ call: Invocation) throws {
  try call.change { store in
    let collection = try store.collection(everNamed: call.positionals[1])
    let fields = try call.positionals.dropFirst(2).map { try collection.field($0) }
    var counts: [Int: Int] = [:]
    try collection.query().onDamage { _ in }.forEach { entry in
      for field in entry.fields { counts[field.number, default: 0] += 1 }
      return true
    }
    let words = fields.map { field in
      "'\(field.name)' of '\(collection.name)' is retired for good, with its values in "
        + counted(counts[field.number] ?? 0, "record")
    }
    return SchemaChange(name: collection.name, retiring: fields.map(\.name), words: words)
  }
}

extension Store {
  /// The collection of a name, or of a first name, which is never another's.
  fileprivate func collection(everNamed name: String) throws -> DynamicCollection {
    try (try? collection(name)) ?? collection(given: name)
  }
}

extension DynamicCollection {
  /// Refuses a name that a field has, or had.
  fileprivate func checkNew(_ name: String) throws {
    guard let known = fields.first(where: { $0.name == name || $0.firstName == name }) else { return }
    let state = known.isRetired ? "was retired" : known.name == name ? "is there" : "is '\(known.name)' now"
    throw ToolError(.failed, "the field '\(name)' of '\(self.name)' \(state): choose another name")
  }
}
