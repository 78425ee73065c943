// How OpenSSL is told names.

/// The name of an OpenSSL parameter. Parameters keep the pointer, so it must be a literal's, which lives for
/// ever.
func parameterName(_ name: StaticString) -> UnsafePointer<CChar> {
  // SAFETY: a static string's bytes end with a zero.
  unsafe UnsafeRawPointer(name.utf8Start).assumingMemoryBound(to: CChar.self)
}
