// The changes of an update, before they are written.

/// A record being updated: what is set is written, everything else is carried over as it is, sealed or not.
///
/// Setting a plain field needs no key, so that it works on a locked store.
@dynamicMemberLookup
public struct Draft<R: Record> {
  /// The record as it was.
  public let entry: Entry<R>
  var values: R
  /// The fields that were set, by their slots; and what was uploaded for those that were set last to an upload.
  private(set) var changes: [Int: Upload<R>?] = [:]
  private(set) var mistake: NotelogError?

  init(_ entry: Entry<R>) {
    self.entry = entry
    values = entry.reader.plan.prototype
  }

  /// The record's identity.
  public var id: RecordID { entry.id }

  /// The value of a field: the one set last, or else the stored one.
  public subscript<Value>(dynamicMember path: KeyPath<R, Value>) -> Value {
    get throws {
      guard let upload = changes[try entry.reader.plan.slot(of: path)] else {
        return try entry.value(of: path)
      }
      guard upload == nil else {
        throw NotelogError(.invalidArgument, "an uploaded value can be read once it is committed")
      }
      return values[keyPath: path]
    }
  }

  /// Sets a field. (A property can't be assigned to, because reading it may throw.)
  public mutating func set<Value>(_ path: WritableKeyPath<R, Value>, _ value: Value) {
    do {
      changes.updateValue(nil, forKey: try entry.reader.plan.slot(of: path))
      values[keyPath: path] = value
    } catch { mistake = error }
  }

  /// Sets a field to a value that `upload` has written for it.
  public mutating func set<Value>(_ path: WritableKeyPath<R, Value>, _ upload: Upload<R>) {
    do throws(NotelogError) {
      let plan = entry.reader.plan
      let slot = try plan.slot(of: path)
      guard upload.id == id, upload.field == plan.collection.fields[plan.slots[slot].index].number,
        upload.store.storeID == plan.collection.storeID
      else {
        throw NotelogError(
          .invalidArgument, "the upload is for another field, record or store: a value opens nowhere else")
      }
      changes[slot] = upload
    } catch { mistake = error }
  }
}
