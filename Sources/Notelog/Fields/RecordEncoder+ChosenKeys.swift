// Values whose key their record names, in a field of its own (FORMAT.md 9.1, INV-M6).

import NotelogBase

extension RecordEncoder {
  /// A value that is carried over, and not under the key that its record is about to name.
  struct MovedValue {
    /// The field's place among those gathered.
    let place: Int
    /// The field's place in the plan.
    let index: Int
    /// The key that it is to be under.
    let keyReference: UInt32
  }

  /// Says of each value that is to be sealed, and whose key the record names, which key that is. All fields have been gathered.
  ///
  /// - Throws: `invalidArgument` where the record names none of the field's keys; `conflict` where an uploaded value is under another key.
  mutating func chooseKeys(
    _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: RawSpan
  ) throws(NotelogError) {
    for place in fields.indices {
      let index = fields[place].index
      guard index >= 0, plan.fields[index].field.isKeyChosen else { continue }
      if case .carried = fields[place].source { continue }
      let choice = try choice(for: index, id, plan, carriedFrom: old)
      switch fields[place].source {
      case .fresh:
        fields[place].entry.keyReference = choice.keys.last ?? 0
      case .uploaded:
        guard choice.keys.last == fields[place].entry.keyReference else {
          throw NotelogError(
            .conflict,
            "\(plan.place(index, id)): the value was uploaded under another key than \(plan.keyFieldName(of: index)) names; upload it again"
          )
        }
      case .carried: break
      }
    }
  }

  /// The values that are carried over and whose record is about to name another key. Where it names none anew they stay as they are, be that
  /// right or wrong.
  func movedValues(
    _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: RawSpan
  ) throws(NotelogError) -> [MovedValue] {
    var moved: [MovedValue] = []
    for (place, field) in fields.enumerated() {
      guard case .carried = field.source, field.index >= 0, plan.fields[field.index].field.isKeyChosen else {
        continue
      }
      guard isFresh(plan.fields[field.index].field.keyField) else { continue }
      let choice = try choice(for: field.index, id, plan, carriedFrom: old)
      if plan.isOne(of: choice, field.entry.keyReference) { continue }
      moved.append(MovedValue(place: place, index: field.index, keyReference: choice.keys.last ?? 0))
    }
    return moved
  }

  private func isFresh(_ number: UInt16) -> Bool {
    for field in fields where field.entry.number == number {
      if case .fresh = field.source { return true }
    }
    return false
  }

  /// Has a value sealed anew take the place of one that was to be carried over: it differs in its key alone.
  mutating func replace(_ moved: MovedValue, by content: SealedContent) {
    uploads.append(content)
    fields[moved.place].entry.keyReference = content.keyReference
    fields[moved.place].source = .uploaded(uploads.count - 1)
  }

  /// The choice that the gathered record makes for a field.
  private func choice(
    for index: Int, _ id: RecordID, _ plan: CollectionPlan, carriedFrom old: RawSpan
  ) throws(NotelogError) -> KeyChoice {
    let number = plan.fields[index].field.keyField
    switch fields.first(where: { $0.entry.number == number })?.source {
    case .fresh(let range):
      return try scratch.withBytes(in: range) { name throws(NotelogError) in
        try plan.choice(for: index, named: name, or: .invalidArgument)
      }
    case .carried(let range): return try plan.choice(for: index, named: old.extracting(range), or: .tampered)
    case .uploaded, nil:
      throw NotelogError(
        .invalidArgument,
        "\(plan.place(index, id)): the record lacks \(plan.keyFieldName(of: index)), which names the key")
    }
  }
}
