// What a simulated disk holds: the kernel's view of it, and what of that would be left without power.

/// The content of a disk, as a value: copying it is cheap, since files share their bytes until one of them
/// changes.
package struct DiskState: Sendable {
  /// A file or folder, apart from its names.
  struct Node: Sendable {
    var isFolder = false
    /// What reads see: the page cache.
    var cached: [UInt8] = []
    /// What is on the medium for certain.
    var durable: [UInt8] = []
    /// What was done since the last sync, oldest first.
    var pending: [FileChange] = []
    /// Bytes below this have space of their own; a file grown by `truncate` has none until it is written.
    var backedByteCount = 0
    /// Whether a failed sync dropped pages: then the cache and the medium differ without anything pending.
    var hasLostPages = false
  }

  /// Every node that ever was; a node's number is its index.
  var nodes: [Node] = []
  /// Names as the running system sees them, by path.
  var cachedEntries: [String: Int] = [:]
  /// Names on the medium.
  var durableEntries: [String: Int] = [:]
  /// Name changes since their folder was synced, oldest first.
  var pendingEntries: [EntryChange] = []

  package init() {}

  /// Whether power loss could change anything.
  var isSettled: Bool {
    pendingEntries.isEmpty && nodes.allSatisfy { $0.pending.isEmpty && !$0.hasLostPages }
  }

  /// The space that files take, as long as a name leads to them.
  var usedByteCount: Int { cachedEntries.values.reduce(0) { $0 + nodes[$1].backedByteCount } }

  func isFolder(_ path: String) -> Bool {
    path.isEmpty || (cachedEntries[path].map { nodes[$0].isFolder } ?? false)
  }

  /// Does to the disk what a system call did.
  mutating func apply(_ effect: DiskEffect) {
    switch effect {
    case .create(let path, let isFolder):
      nodes.append(Node(isFolder: isFolder))
      applyEntry(.link(path, nodes.count - 1))
    case .change(let node, let change):
      change.apply(to: &nodes[node].cached)
      nodes[node].pending.append(change)
      switch change {
      case .write(let offset, let bytes):
        nodes[node].backedByteCount = max(nodes[node].backedByteCount, offset + bytes.count)
      case .grow(let byteCount): nodes[node].backedByteCount = max(nodes[node].backedByteCount, byteCount)
      case .resize(let byteCount): nodes[node].backedByteCount = min(nodes[node].backedByteCount, byteCount)
      }
    case .sync(let node): sync(node)
    case .dropPages(let node, let readsOldBytes):
      nodes[node].pending = []
      nodes[node].hasLostPages = true
      if readsOldBytes { nodes[node].cached = nodes[node].durable }
    case .entry(let change): applyEntry(change)
    case .syncFolder(let path): syncFolder(path)
    }
  }

  private mutating func sync(_ node: Int) {
    if nodes[node].hasLostPages {
      for change in nodes[node].pending { change.apply(to: &nodes[node].durable) }
    } else {
      nodes[node].durable = nodes[node].cached
    }
    nodes[node].pending = []
  }

  private mutating func applyEntry(_ change: EntryChange) {
    change.apply(to: &cachedEntries)
    pendingEntries.append(change)
  }

  /// Makes the folder's changes durable, and with a file's move from elsewhere whatever named that file
  /// before.
  private mutating func syncFolder(_ path: String) {
    let moved = Set(pendingEntries.filter { $0.touches(folder: path) }.map(\.node))
    let last = pendingEntries.lastIndex { $0.touches(folder: path) } ?? -1
    var left: [EntryChange] = []
    for (index, change) in pendingEntries.enumerated() {
      if change.touches(folder: path) || (index < last && moved.contains(change.node)) {
        change.apply(to: &durableEntries)
      } else {
        left.append(change)
      }
    }
    pendingEntries = left
  }
}

/// What a system call did to the disk.
enum DiskEffect: Sendable {
  /// A new file or folder, with its name.
  case create(String, isFolder: Bool)
  case change(Int, FileChange)
  case sync(Int)
  /// A sync that failed and forgot what it could not write.
  case dropPages(Int, readsOldBytes: Bool)
  case entry(EntryChange)
  case syncFolder(String)
}

/// A change of a file's bytes or length.
enum FileChange: Sendable {
  case write(Int, [UInt8])
  /// `truncate`: shorter or longer.
  case resize(Int)
  /// `allocate`: never shorter.
  case grow(Int)

  func apply(to bytes: inout [UInt8]) {
    switch self {
    case .write(let offset, let new): Self.write(new[...], at: offset, to: &bytes)
    case .resize(let count):
      if count < bytes.count { bytes.removeLast(bytes.count - count) } else { Self.grow(&bytes, to: count) }
    case .grow(let count): Self.grow(&bytes, to: count)
    }
  }

  static func grow(_ bytes: inout [UInt8], to count: Int) {
    if count > bytes.count { bytes.append(contentsOf: repeatElement(0, count: count - bytes.count)) }
  }

  static func write(_ new: ArraySlice<UInt8>, at offset: Int, to bytes: inout [UInt8]) {
    grow(&bytes, to: offset)
    bytes.replaceSubrange(offset..<min(bytes.count, offset + new.count), with: new)
  }
}

/// A change of names; each is one step, which happened or did not.
enum EntryChange: Sendable {
  case link(String, Int)
  case move(String, String, Int)
  case remove(String, Int)

  var node: Int {
    switch self {
    case .link(_, let node), .move(_, _, let node), .remove(_, let node): node
    }
  }

  func touches(folder: String) -> Bool {
    switch self {
    case .link(let path, _), .remove(let path, _): parentFolder(of: path) == folder
    case .move(let path, let newPath, _):
      parentFolder(of: path) == folder || parentFolder(of: newPath) == folder
    }
  }

  /// Applies the step, also where steps before it were lost: a name that leads elsewhere is left alone.
  func apply(to entries: inout [String: Int]) {
    switch self {
    case .link(let path, let node): entries[path] = node
    case .move(let path, let newPath, let node):
      if entries[path] == node { entries[path] = nil }
      entries[newPath] = node
    case .remove(let path, let node):
      if entries[path] == node { entries[path] = nil }
    }
  }
}

/// The folder that a path's last name stands in; `""` is the store's own.
func parentFolder(of path: String) -> String {
  path.utf8.lastIndex(of: UInt8(ascii: "/")).map { String(path[..<$0]) } ?? ""
}
