// The changes of an update, before they are written.

/// A record being updated: what is set is written, everything else is carried over as it is, sealed or not.
///
/// Setting a plain field needs no key, so that it works on a locked store.
@dynamicMemberLookup
public struct Draft<R: Record> {
  /// The record as it was.
  public let entry: Entry<R>
  var values: R
  var isSet: [Bool]
  private(set) var mistake: NotelogError?

  init(_ entry: Entry<R>) {
    self.entry = entry
    values = entry.reader.plan.prototype
    isSet = Array(repeating: false, count: entry.reader.plan.slots.count)
  }

  /// The record's identity.
  public var id: RecordID { entry.id }

  /// The value of a field: the one set last, or else the stored one.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws {
      isSet[try entry.reader.plan.slot(of: path)] ? values[keyPath: path] : try entry.value(of: path)
    }
  }

  /// Sets a field. (A property can't be assigned to, because reading it may throw.)
  public mutating func set<Value>(_ path: WritableKeyPath<R, Value>, _ value: Value) {
    do {
      isSet[try entry.reader.plan.slot(of: path)] = true
      values[keyPath: path] = value
    } catch {
      mistake = error
    }
  }
}
