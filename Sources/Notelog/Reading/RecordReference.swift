// Pointing at a record from outside of the store.

public import Foundation

/// A record's address: the store, the collection and the record, as a URI that may be written down anywhere.
///
/// `notelog://<store>/<collection>/<record>`: it holds for as long as the record lives, through compaction, backup and restore,
/// and through a new name for the collection.
///
/// Inside of the store a ``RecordID`` is enough, as a field: a reference says store and collection beside it, and is refused by any other.
public struct RecordReference: Hashable, Sendable {
  /// The URI's scheme.
  public static let scheme = "notelog"

  /// The store's id, as ``StoreInfo/id`` gives it.
  public let store: String
  /// The name under which the collection was first declared.
  public let collection: String
  /// The record's id.
  public let id: RecordID
}

extension RecordReference {
  /// Parses a URI; nil where it is not a reference.
  public init?(_ url: URL) {
    guard url.scheme == Self.scheme, let store = url.host(), RecordID(store) != nil, url.query() == nil,
      url.fragment() == nil
    else { return nil }
    let parts = url.path(percentEncoded: true).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 3, parts[0].isEmpty, let collection = String(parts[1]).removingPercentEncoding,
      !collection.isEmpty, let id = RecordID(parts[2])
    else { return nil }
    self.init(store: store.lowercased(), collection: collection, id: id)
  }

  /// The URI.
  public var url: URL {
    // What a path's part may hold unescaped; a slash in a name is none of the URI's.
    let allowed = CharacterSet.alphanumerics.intersection(CharacterSet(charactersIn: "\0"..."\u{7F}"))
      .union(CharacterSet(charactersIn: "-._~"))
    let name = collection.addingPercentEncoding(withAllowedCharacters: allowed) ?? ""
    guard let url = URL(string: "\(Self.scheme)://\(store)/\(name)/\(id)") else {
      preconditionFailure("letters, digits and escapes are a URL")
    }
    return url
  }
}

extension RecordReference: CustomStringConvertible, LosslessStringConvertible {
  /// The URI's text.
  public var description: String { url.absoluteString }

  /// Parses a URI's text; nil where it is not a reference.
  public init?(_ description: String) {
    guard let url = URL(string: description) else { return nil }
    self.init(url)
  }
}

extension RecordReference: Codable {
  /// Decodes the URI's text.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    guard let reference = RecordReference(try container.decode(String.self)) else {
      throw DecodingError.dataCorruptedError(in: container, debugDescription: "not a record's URI")
    }
    self = reference
  }

  /// Encodes the URI's text.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(description)
  }
}

extension Store {
  /// A record's address, to be kept outside of the store. Whether there is such a record is not looked at.
  public func reference<R: Record>(
    to type: R.Type, _ id: RecordID
  ) throws -> RecordReference {
    RecordReference(
      store: self.id.description, collection: try reader(for: type).plan.collection.schema.firstName, id: id)
  }

  /// The record that a reference points to; nil where it is no more.
  ///
  /// - Throws: `invalidArgument` where the reference is to another store or another type's collection; what reading a
  ///   record throws.
  public func get<R: Record>(
    _ type: R.Type, _ reference: RecordReference
  ) throws -> Entry<R>? {
    guard reference.store == id.description else {
      throw NotelogError(.invalidArgument, "\(reference) points into another store")
    }
    guard try reader(for: type).plan.collection.schema.firstName == reference.collection else {
      throw NotelogError(.invalidArgument, "\(reference) points to a record of another type than \(R.self)")
    }
    return try get(type, reference.id)
  }
}
