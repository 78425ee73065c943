// A stored property by its offset: what `MemoryLayout.offset(of:)` is for, at a fraction of a key path's cost.

// Public for the optimiser alone (docs/decisions/0076).

/// Reads the stored property of type `Value` at `offset`, which `MemoryLayout.offset(of:)` gave for `root`'s type.
@inlinable
public func loadProperty<Root, Value>(_ type: Value.Type, of root: borrowing Root, at offset: Int) -> Value {
  // SAFETY: the offset is that of an initialised stored property of this very type, so it is aligned and bound to it.
  unsafe withUnsafePointer(to: root) { pointer in
    unsafe (UnsafeRawPointer(pointer) + offset).assumingMemoryBound(to: Value.self).pointee
  }
}

/// Sets the stored property at `offset`, which `MemoryLayout.offset(of:)` gave for `root`'s type.
@inlinable
public func storeProperty<Root, Value>(_ value: Value, to root: inout Root, at offset: Int) {
  // SAFETY: as above; the access to `root` is exclusive.
  unsafe withUnsafeMutablePointer(to: &root) { pointer in
    unsafe (UnsafeMutableRawPointer(pointer) + offset).assumingMemoryBound(to: Value.self).pointee = value
  }
}
