// The part of a long list that is on the screen, of which no more is fetched than is shown.

/// A list of any length, of which items are fetched as they are shown.
public protocol LongList<Item> {
  associatedtype Item: Identifiable

  /// The next items behind one, at most so many; the first where there is none.
  func items(after item: Item?, atMost count: Int) throws -> [Item]

  /// The items just before one, at most so many, in the list's order; the last where there is none.
  func items(before item: Item?, atMost count: Int) throws -> [Item]

  /// Takes an item out that is gone.
  mutating func remove(_ item: Item)
}

/// What is shown of a list, and what is selected in it.
public struct ListWindow<List: LongList> {
  /// The list.
  public private(set) var list: List
  /// The items on the screen.
  public private(set) var shown: [List.Item] = []
  /// The place of what is selected among those.
  public private(set) var selected = 0

  /// Begins at the list's start.
  public init(_ list: List, rows: Int) throws {
    self.list = list
    try show(rows: rows)
  }

  /// What is selected; nil where there is nothing.
  public var current: List.Item? { shown.indices.contains(selected) ? shown[selected] : nil }

  /// Shows so many rows.
  public mutating func show(rows: Int) throws {
    let surplus = max(0, min(shown.count - rows, selected))
    shown = Array(shown.dropFirst(surplus).prefix(rows))
    selected -= surplus
    if shown.count < rows { shown += try list.items(after: shown.last, atMost: rows - shown.count) }
    guard let first = shown.first, shown.count < rows else { return }
    let before = try list.items(before: first, atMost: rows - shown.count)
    shown = before + shown
    selected += before.count
  }

  /// Moves the selection, and where it leaves the screen, what is shown.
  public mutating func move(_ count: Int) throws {
    let rows = shown.count
    selected += count
    if selected >= rows, let last = shown.last {
      let after = try list.items(after: last, atMost: selected - rows + 1)
      shown = (shown + after).suffix(rows)
      selected = rows - 1
    } else if selected < 0, let first = shown.first {
      shown = Array((try list.items(before: first, atMost: -selected) + shown).prefix(rows))
      selected = 0
    }
  }

  /// Shows the next page, or the one before; what is selected keeps its row.
  public mutating func turn(forward: Bool) throws {
    let rows = shown.count
    let page =
      forward
      ? try list.items(after: shown.last, atMost: rows) : try list.items(before: shown.first, atMost: rows)
    if page.count < rows { selected = forward ? rows - 1 : 0 }
    shown = forward ? (shown + page).suffix(rows) : Array((page + shown).prefix(rows))
  }

  /// Shows the list's end, and selects the last item.
  public mutating func moveToEnd() throws {
    shown = try list.items(before: nil, atMost: shown.count)
    selected = max(0, shown.count - 1)
  }

  /// Takes what is selected out of the list.
  public mutating func removeCurrent() throws {
    let rows = shown.count
    guard let item = current else { return }
    shown.remove(at: selected)
    list.remove(item)
    try show(rows: rows)
    selected = max(0, min(selected, shown.count - 1))
  }
}
