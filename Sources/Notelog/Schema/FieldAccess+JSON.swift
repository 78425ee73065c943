// Properties of any Codable type, kept as JSON documents (FORMAT.md 7.3).

extension FieldAccess {
  /// A property of any `Codable` type, kept as JSON.
  init<Document: Codable & Sendable>(json path: FieldPath<R, Document>) {
    self.init(
      encode: { record, scratch in scratch.append(try EncodedJSON(encoding: record[keyPath: path])) },
      decode: { record, bytes in
        record[keyPath: path] = try EncodedJSON(loading: bytes).decoded(as: Document.self)
      })
  }

  /// The same of an optional property: nil is no document, but a missing value.
  init<Document: Codable & Sendable>(json path: FieldPath<R, Document?>) {
    self.init(
      encode: { record, scratch in
        scratch.append(try record[keyPath: path].map { try EncodedJSON(encoding: $0) })
      },
      decode: { record, bytes in
        record[keyPath: path] = try EncodedJSON?(loading: bytes)?.decoded(as: Document.self)
      })
  }
}
