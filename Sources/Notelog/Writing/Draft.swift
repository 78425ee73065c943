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
  /// What was uploaded for the fields that were set last to an upload.
  private(set) var uploads: [Int: Upload<R>] = [:]
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
      guard uploads[try entry.reader.plan.slot(of: path)] == nil else {
        throw NotelogError(.invalidArgument, "an uploaded value can be read once it is committed")
      }
      return isSet[try entry.reader.plan.slot(of: path)] ? values[keyPath: path] : try entry.value(of: path)
    }
  }

  /// Sets a field. (A property can't be assigned to, because reading it may throw.)
  public mutating func set<Value>(_ path: WritableKeyPath<R, Value>, _ value: Value) {
    do {
      let slot = try entry.reader.plan.slot(of: path)
      isSet[slot] = true
      uploads[slot] = nil
      values[keyPath: path] = value
    } catch {
      mistake = error
    }
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
      isSet[slot] = true
      uploads[slot] = upload
    } catch {
      mistake = error
    }
  }
}
