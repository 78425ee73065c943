// Conditions of a query, and what is made of them by and, or and not.

import NotelogBase

/// What must be so of a record for a query to find it: conditions on fields, joined by `&&`, `||` and `!`.
///
/// ```swift
/// let found = try store.query(Note.self)
///   .where(.field(\.folder, is: 3) || .field(\.time, in: lastWeek...) && !.field(\.name, hasPrefix: "Re: "))
///   .entries()
/// ```
///
/// Each condition on a field is also a method of ``Query`` (`where(\.folder, is: 3)`), whose conditions all
/// have to hold. What is on the left is asked first, and where that decides, what is on the right is not
/// asked: put a condition on a sealed field, which has to be opened, last.
///
/// Of records whose type is known at run time only, it names fields: `.field("folder", .equal, .integer(3))`,
/// of a `QueryCondition<DynamicEntry>`.
public struct QueryCondition<R>: Sendable {
  let node: ConditionNode

  init(_ node: ConditionNode) { self.node = node }

  init(
    field: @escaping FieldReference, keys: KeySet? = nil,
    bind: (@Sendable (Scanner) throws -> ConditionNode.Bound)? = nil
  ) {
    node = .field(FieldCondition(field: field, keys: keys, bind: bind))
  }

  /// Both conditions hold.
  public static func && (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    QueryCondition(.all(left.node.requirements + right.node.requirements))
  }

  /// One of the conditions holds, or both do.
  public static func || (left: QueryCondition, right: QueryCondition) -> QueryCondition {
    QueryCondition(.any(left.node.alternatives + right.node.alternatives))
  }

  /// The condition doesn't hold.
  public static prefix func ! (condition: QueryCondition) -> QueryCondition {
    QueryCondition(.not(condition.node))
  }
}

/// Conditions on fields, joined.
indirect enum ConditionNode: Sendable {
  /// A condition as one thread asks it: what does not change from record to record was looked up.
  typealias Bound = (ScannedRecord) throws -> Bool

  case field(FieldCondition)
  /// All of them hold; so it is where there is none.
  case all([ConditionNode])
  /// One of them holds, at least.
  case any([ConditionNode])
  /// It does not hold.
  case not(ConditionNode)

  /// The conditions that all have to hold for it.
  var requirements: [ConditionNode] { if case .all(let conditions) = self { conditions } else { [self] } }

  /// The conditions of which one has to hold for it.
  var alternatives: [ConditionNode] { if case .any(let conditions) = self { conditions } else { [self] } }

  /// The conditions on fields that it is made of.
  var fields: [FieldCondition] {
    switch self {
    case .field(let condition): [condition]
    case .all(let conditions), .any(let conditions): conditions.flatMap(\.fields)
    case .not(let condition): condition.fields
    }
  }

  /// The ids of which a record must have one for the condition to hold; nil where it names none.
  func ids(_ scanner: Scanner) -> Set<RecordID>? {
    switch self {
    case .field(let condition):
      guard let keys = condition.keys, keys.type == .uuid, let values = keys.values(isOptional: false),
        (try? condition.field(scanner))?.index == CollectionPlan.idIndex
      else { return nil }
      return Set(values.map { RecordID(ID16($0)) })
    case .all(let conditions): return conditions.lazy.compactMap { $0.ids(scanner) }.first
    case .any(let conditions):
      let sides = conditions.compactMap { $0.ids(scanner) }
      return sides.count == conditions.count ? Set(sides.joined()) : nil
    case .not: return nil
    }
  }

  /// The condition, ready for a scanner.
  func bound(to scanner: Scanner) throws -> Bound {
    switch self {
    case .field(let condition): return try condition.bound(to: scanner)
    case .all(let conditions), .any(let conditions):
      let bound = try conditions.map { try $0.bound(to: scanner) }
      let isAny = if case .any = self { true } else { false }
      return { record in
        // The first that is so decides of any, the first that is not so of all.
        for condition in bound where try condition(record) == isAny { return isAny }
        return !isAny
      }
    case .not(let condition):
      let holds = try condition.bound(to: scanner)
      return { record in try !holds(record) }
    }
  }
}

// MARK: - One condition of a query on one field.

/// What must be so of a field for a record to be found.
struct FieldCondition: Sendable {
  let field: FieldReference
  /// The sort keys that are permitted; nil where they don't say it.
  let keys: KeySet?
  /// Makes the condition ready for a scanner where the keys don't decide; nil where they do.
  var bind: (@Sendable (Scanner) throws -> ConditionNode.Bound)?

  /// The condition, ready for a scanner.
  fileprivate func bound(to scanner: Scanner) throws -> ConditionNode.Bound {
    // A field that was retired has its initial value, and no place.
    guard let keys, keys.decides, let place = try? field(scanner),
      scanner.plan.field(at: place.index).type == keys.type
    else {
      guard let bind else { throw mismatch(scanner, try field(scanner).index) }
      return try bind(scanner)
    }
    // The sort keys of records are held against those that are permitted.
    let isOptional = scanner.plan.field(at: place.index).isOptional
    let ranges = keys.ranges(isOptional: isOptional)
    let folded = keys.ignoresCase ? keys.values(isOptional: isOptional)?.first : nil
    var key: [UInt8] = []
    func ask(_ value: RawSpan) throws -> Bool {
      if SortKey.isValue(of: keys.type) {
        try SortKey.check(value, keys.type, isOptional: isOptional)
        if let folded { return value.elementsEqualIgnoringCase(folded.rawSpan) }
        return ranges.contains(value)
      }
      key.removeAll(keepingCapacity: true)
      try SortKey.append(value, keys.type, isOptional: isOptional, to: &key)
      return ranges.contains(key.rawSpan)
    }
    let isInitial = try place.initial.map { try ask($0.rawSpan) } ?? keys.includesMissing
    return { record in try scanner.withValue(in: place.index, of: record, ask) ?? isInitial }
  }
}

extension QueryCondition {
  /// A condition that a field is a text.
  init(_ field: @escaping FieldReference, is text: String, ignoringCase: Bool) {
    self.init(field: field, keys: ignoringCase ? KeySet(ignoringCaseOf: text) : KeySet([text]))
  }

  /// A condition that looks at a value of a record type.
  init(
    _ path: any PartialKeyPath<R> & Sendable, _ keys: KeySet? = nil,
    _ holds: @escaping @Sendable (ScannedEntry<R>) throws -> Bool
  ) where R: Record {
    self.init(field: fieldReference(path), keys: keys) { scanner in
      let scanner = scanner.of(R.self)
      return { record in try holds(ScannedEntry(record, scanner)) }
    }
  }

  /// A condition that looks at a text that is there.
  init(textOf field: @escaping FieldReference, _ holds: @escaping @Sendable (RawSpan) throws -> Bool) {
    self.init(field: field) { scanner in
      let place = try field(scanner)
      let field = scanner.plan.fields[place.index]
      guard field.type == .text else { throw mismatch(scanner, place.index) }
      func ask(_ bytes: RawSpan) throws -> Bool {
        guard field.isOptional else { return try holds(bytes) }
        guard bytes.byteCount > 0, bytes.byte(at: 0) == 1 else { return false }
        return try holds(bytes.extracting(droppingFirst: 1))
      }
      // What a record has that lacks the field.
      let isInitial = try place.initial.map { try ask($0.rawSpan) } ?? false
      return { record in try scanner.withValue(in: place.index, of: record, ask) ?? isInitial }
    }
  }
}

private func mismatch(_ scanner: Scanner, _ index: Int) -> NotelogError {
  NotelogError(
    .typeMismatch,
    "\(scanner.plan.name(of: index)) is a \(scanner.plan.fields[index].type.name) field, and is compared with another type's value"
  )
}

// MARK: - Conditions on the fields of a record type.

extension QueryCondition where R: Record {
  /// The field has this value. If the field is indexed and few records have it, only those are read; so it is
  /// with a sealed field that reveals equality: ``Sealed/revealingEquality(ignoringCase:)``.
  ///
  /// Values are equal where `==` says so, except that text is compared by its UTF-8 bytes: a letter that can
  /// be composed in two ways is two letters. In an indexed field of a type of your own, values that are equal
  /// must be stored alike.
  public static func field<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, is value: Value
  ) -> QueryCondition {
    QueryCondition(path, KeySet([value])) { entry in try entry.value(of: path) == value }
  }

  /// The text field is this text, the case of ASCII letters ignored where that is said: the other bytes of
  /// both are the same.
  ///
  /// A sealed field that reveals equality ignoring case leads to the records that have the text in any case,
  /// and only those are opened. An index helps where case is not ignored.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, is text: String, ignoringCase: Bool
  ) -> QueryCondition where Value.Stored: TextValue {
    QueryCondition(fieldReference(path), is: text, ignoringCase: ignoringCase)
  }

  /// The field has another value than this. An index helps where this is nil.
  public static func field<Value: Equatable & Sendable>(
    _ path: FieldKeyPath<R, Value>, isNot value: Value
  ) -> QueryCondition {
    guard let keys = KeySet([value]), keys.includesMissing else { return !field(path, is: value) }
    return QueryCondition(path, KeySet(presentOf: keys.type)) { entry in try entry.value(of: path) != value }
  }

  /// The field has one of these values, compared as one value is. If the field is indexed, or sealed and
  /// reveals equality, and few records have one, only those are read. Of `\.id`, which is no field, those
  /// records are read and no others.
  ///
  /// - Complexity: O(log *n*) a record, in the number of values.
  public static func field<Value: Hashable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in values: [Value]
  ) -> QueryCondition {
    let known = Set(values)
    // Texts that are other bytes may be one to a set.
    return QueryCondition(path, KeySet(values)) { entry in known.contains(try entry.value(of: path)) }
  }

  /// The field has a value in a range: `5..<9`, `5...9`, `5...`, `..<9` or `...9`. If the field is an indexed
  /// number, date, UUID or text and few records are in the range, only those are read.
  ///
  /// Text is in the order of its UTF-8 bytes, as where it is sorted: see `sorted(by:_:)`. Types of your own
  /// compare as they say; indexes don't help with those.
  public static func field<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value>, in range: some RangeExpression<Value> & Sendable
  ) -> QueryCondition {
    QueryCondition(path, KeySet(in: range)) { entry in range.contains(try entry.value(of: path)) }
  }

  /// The field has a value, and it is in a range; nil is in none.
  public static func field<Value: Comparable & Sendable>(
    _ path: FieldKeyPath<R, Value?>, in range: some RangeExpression<Value> & Sendable
  ) -> QueryCondition {
    QueryCondition(path, KeySet(in: range)) { entry in
      try entry.value(of: path).map { range.contains($0) } ?? false
    }
  }

  /// The text field begins with a text; nil begins with nothing.
  ///
  /// - Parameters:
  ///   - path: The field. If it is indexed and few records are left, only those are read, unless case and
  ///     accents are ignored.
  ///   - text: What it begins with.
  ///   - ignoringCaseAndAccents: How both are compared: see `field(_:contains:ignoringCaseAndAccents:)`.
  /// - Returns: The condition.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, hasPrefix text: String, ignoringCaseAndAccents: Bool = false
  ) -> QueryCondition where Value.Stored: TextValue {
    guard ignoringCaseAndAccents else {
      return QueryCondition(field: fieldReference(path), keys: KeySet(beginningWith: text))
    }
    let pattern = TextPattern(text, ignoringCaseAndAccents: true)
    return QueryCondition(textOf: fieldReference(path)) { try pattern.isIn($0, atStart: true) }
  }

  /// The text field holds a text; a sealed field is opened for it. nil holds nothing.
  ///
  /// - Parameters:
  ///   - path: The field.
  ///   - text: What it holds.
  ///   - ignoringCaseAndAccents: Whether "cafe" is found in "Café", however that é is composed; of each value
  ///     that is not ASCII, strings are made then. Otherwise bytes are compared: upper case is not lower
  ///     case, and a letter that can be composed in two ways is two letters.
  /// - Returns: The condition.
  public static func field<Value: FieldValue>(
    _ path: FieldKeyPath<R, Value>, contains text: String, ignoringCaseAndAccents: Bool = false
  ) -> QueryCondition where Value.Stored: TextValue {
    let pattern = TextPattern(text, ignoringCaseAndAccents: ignoringCaseAndAccents)
    return QueryCondition(textOf: fieldReference(path)) { try pattern.isIn($0) }
  }

  /// The field's value satisfies a condition of your own; a sealed field is opened for it.
  public static func field<Value>(
    _ path: FieldKeyPath<R, Value>, satisfies condition: @escaping @Sendable (Value) throws -> Bool
  ) -> QueryCondition {
    QueryCondition(path) { entry in try condition(try entry.value(of: path)) }
  }
}
