// A disk's content after a crash, by loss model.

extension DiskState {
  /// The disk as the machine finds it when it comes back, and a number that tells apart what different losses
  /// make of one and the same moment.
  func afterCrash(
    _ loss: LossModel, using random: inout SeededGenerator
  ) -> (disk: DiskState, fingerprint: Int) {
    // A killed process leaves unsynced work behind, for the next power loss to lose.
    guard loss.isPowerLoss || isSettled else { return (self, 0) }
    var survivor = DiskState()
    var hasher = Hasher()
    var entries = durableEntries
    for change in survivingEntryChanges(loss, using: &random) { change.apply(to: &entries) }
    // In the paths' order, since a dictionary's own would make one seed mean two things.
    var newNumbers: [Int: Int] = [:]
    for path in entries.keys.sorted() {
      guard let number = entries[path] else { continue }
      let folder = parentFolder(of: path)
      guard folder.isEmpty || survivor.isFolder(folder) else { continue }
      hasher.combine(path)
      hasher.combine(number)
      if let known = newNumbers[number] {
        survivor.cachedEntries[path] = known
        continue
      }
      var node = Node(isFolder: nodes[number].isFolder)
      node.durable = survivingBytes(of: number, loss, using: &random)
      if !nodes[number].pending.isEmpty { hasher.combine(contentsOf: node.durable) }
      node.cached = node.durable
      node.backedByteCount = node.durable.count
      newNumbers[number] = survivor.nodes.count
      survivor.cachedEntries[path] = survivor.nodes.count
      survivor.nodes.append(node)
    }
    survivor.durableEntries = survivor.cachedEntries
    return (survivor, hasher.finalize())
  }

  private func survivingEntryChanges(_ loss: LossModel, using random: inout SeededGenerator) -> [EntryChange]
  {
    switch loss {
    case .allLost, .entriesLost: return []
    case .prefixKept:
      return Array(pendingEntries.prefix(random.pick(0..<pendingEntries.count + 1)))
    case .subsetKept, .entriesSubset: return pendingEntries.filter { _ in random.oneIn(2) }
    case .processKilled, .allKept, .firstLost, .lastTorn, .sectorsTorn, .pagesTorn, .zeroTail, .staleTail,
      .bytesLost:
      return pendingEntries
    }
  }

  private func survivingBytes(
    of number: Int, _ loss: LossModel, using random: inout SeededGenerator
  ) -> [UInt8] {
    let node = nodes[number]
    guard !node.pending.isEmpty else { return node.durable }
    var bytes = node.durable
    switch loss {
    case .allLost, .bytesLost: break
    case .processKilled, .allKept, .entriesLost, .entriesSubset:
      for change in node.pending { change.apply(to: &bytes) }
    case .prefixKept:
      for change in node.pending.prefix(random.pick(0..<node.pending.count + 1)) { change.apply(to: &bytes) }
    case .subsetKept:
      applySome(node.pending, to: &bytes, using: &random)
    case .firstLost:
      let first = node.pending.firstIndex(where: \.isWrite) ?? 0
      for (index, change) in node.pending.enumerated() where index != first { change.apply(to: &bytes) }
    case .lastTorn:
      let last = node.pending.lastIndex(where: \.isWrite)
      for (index, change) in node.pending.enumerated() {
        if index == last {
          change.applyFirstSectors(to: &bytes, using: &random)
        } else {
          change.apply(to: &bytes)
        }
      }
    case .sectorsTorn: applyPieces(of: node.pending, size: 512, to: &bytes, using: &random)
    case .pagesTorn: applyPieces(of: node.pending, size: 4_096, to: &bytes, using: &random)
    case .zeroTail:
      for change in node.pending { change.applyLength(to: &bytes) }
    case .staleTail:
      for change in node.pending { change.applyLength(to: &bytes) }
      fillWithStaleBytes(&bytes, from: min(bytes.count, node.durable.count), of: number, using: &random)
      applySome(node.pending, to: &bytes, using: &random)
    }
    return bytes
  }

  /// Some changes, from most to few of them: with halves alone, long runs that are almost whole would never
  /// be tried.
  private func applySome(
    _ changes: [FileChange], to bytes: inout [UInt8], using random: inout SeededGenerator
  ) {
    let odds = UInt64([1, 4, 7].randomElement(using: &random) ?? 4)
    for change in changes where random.next() % 8 < odds { change.apply(to: &bytes) }
  }

  private func applyPieces(
    of changes: [FileChange], size: Int, to bytes: inout [UInt8], using random: inout SeededGenerator
  ) {
    let odds = UInt64([1, 4, 7].randomElement(using: &random) ?? 4)
    for change in changes {
      guard case .write(let offset, let new) = change else {
        change.apply(to: &bytes)
        continue
      }
      var start = offset
      while start < offset + new.count {
        let end = min(offset + new.count, (start / size + 1) * size)
        if random.next() % 8 < odds {
          FileChange.write(new[start - offset..<end - offset], at: start, to: &bytes)
        }
        start = end
      }
    }
  }

  /// Lays down what the medium may have held before: mostly older bytes of any file, at the place they had
  /// there, so that whole frames with good checksums of their own turn up.
  private func fillWithStaleBytes(
    _ bytes: inout [UInt8], from start: Int, of number: Int, using random: inout SeededGenerator
  ) {
    let sources = nodes.map(\.durable).filter { !$0.isEmpty }
    var offset = start
    while offset < bytes.count {
      let count = min(bytes.count - offset, 512 * random.pick(1..<17))
      if let source = sources.randomElement(using: &random), !random.oneIn(8) {
        let from = random.oneIn(4) ? random.pick(0..<source.count) & ~7 : offset
        if from < source.count {
          let piece = source[from..<min(source.count, from + count)]
          bytes.replaceSubrange(offset..<offset + piece.count, with: piece)
        }
      } else {
        bytes.replaceSubrange(offset..<offset + count, with: random.bytes(count: count))
      }
      offset += count
    }
  }
}

extension FileChange {
  var isWrite: Bool { if case .write = self { true } else { false } }

  /// The change's mark on the file's length, without its bytes.
  func applyLength(to bytes: inout [UInt8]) {
    switch self {
    case .write(let offset, let new): Self.grow(&bytes, to: offset + new.count)
    case .resize, .grow: apply(to: &bytes)
    }
  }

  /// A write that was cut off between two sectors.
  func applyFirstSectors(to bytes: inout [UInt8], using random: inout SeededGenerator) {
    guard case .write(let offset, let new) = self else { return apply(to: &bytes) }
    let boundaries = [offset] + stride(from: (offset / 512 + 1) * 512, to: offset + new.count, by: 512)
    let end = boundaries.randomElement(using: &random) ?? offset
    Self.write(new[..<(end - offset)], at: offset, to: &bytes)
  }
}
