// Looking things up in arrays that are in ascending order of a number.

// Public for the optimiser alone (docs/decisions/0076).

extension Array {
  /// The first place whose number is not less than the one looked for.
  @inlinable
  @inline(__always)
  public func firstPlace(notBelow number: UInt32, by numberOf: (Element) -> UInt32) -> Int {
    var lower = 0
    var upper = count
    while lower < upper {
      let middle = (lower + upper) / 2
      if numberOf(self[middle]) < number { lower = middle + 1 } else { upper = middle }
    }
    return lower
  }

  /// The element of a number, if there is one.
  @inlinable
  @inline(__always)
  public func find(_ number: UInt32, by numberOf: (Element) -> UInt32) -> Element? {
    let place = firstPlace(notBelow: number, by: numberOf)
    return place < count && numberOf(self[place]) == number ? self[place] : nil
  }
}
