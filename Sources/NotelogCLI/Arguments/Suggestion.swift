// Near misses: which known word someone may have meant.

enum Suggestion {
  /// The nearest of `words`, if it is near enough to have been meant: a third of its letters wrong at most,
  /// or a beginning of it typed.
  static func nearest(to typed: String, among words: [String]) -> String? {
    let near = words.map { (word: $0, distance: distance(typed, $0)) }
      .filter { $0.distance <= max(1, $0.word.count / 3) }
      .min { $0.distance < $1.distance }
    if let near { return near.word }
    let completed = words.filter { typed.count > 1 && $0.hasPrefix(typed) }
    return completed.count == 1 ? completed[0] : nil
  }

  /// How many letters must be added, dropped, replaced or swapped with their neighbour.
  static func distance(_ a: String, _ b: String) -> Int {
    let a = Array(a)
    let b = Array(b)
    var beforeLast: [Int] = []
    var last = Array(0...b.count)
    for i in a.indices {
      var row = [i + 1]
      for j in b.indices {
        var best = min(row[j] + 1, last[j + 1] + 1, last[j] + (a[i] == b[j] ? 0 : 1))
        if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, beforeLast[j - 1] + 1) }
        row.append(best)
      }
      beforeLast = last
      last = row
    }
    return last[b.count]
  }
}
