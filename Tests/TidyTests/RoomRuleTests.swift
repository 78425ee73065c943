// The rule about rooms, held against what it must find.
import Testing

@Suite struct RoomRuleTests {
  static let map = File(
    path: "ARCHITECTURE.md",
    text: """
      ## Modules and rooms
      ### Store
      | room | holds |
      |---|---|
      | Low | what is used |
      | High | what uses it |
      ## Words
      | room | no room |
      """)

  static func file(_ path: String, _ text: String) -> File { File(path: path, text: text) }

  static let sound = [
    file("Sources/Store/Low/A.swift", "struct Leaf {}"), file("Sources/Store/Low/B.swift", "enum Twin {}"),
    file("Sources/Store/High/C.swift", "struct Tree { let leaf: Leaf }"),
    file("Sources/Store/High/D.swift", "enum Twin {}"),
  ]

  @Test func `the map's tables are read`() {
    #expect(RoomRules.modules(of: Self.map) == [ModuleMap(name: "Store", line: 2, rooms: ["Low", "High"])])
  }

  @Test func `rooms that use only what is below them are sound`() {
    #expect(RoomRules.roomsAreListed(map: Self.map, sources: Self.sound).isEmpty)
    #expect(RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound).isEmpty)
  }

  @Test func `a type of a room above is found`() {
    let wrong = Self.file("Sources/Store/Low/E.swift", "// Tree\nlet name = \"Tree\"\nlet tree: Tree?")
    let findings = RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound + [wrong])
    #expect(findings.map(\.line) == [3] && findings[0].path == wrong.path)
    // Declared in both rooms, it can't be told which is meant.
    let twin = Self.file("Sources/Store/Low/E.swift", "let twin: Twin?")
    #expect(RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound + [twin]).isEmpty)
  }

  @Test func `a member of an extension in a room above is found`() {
    let above = Self.file(
      "Sources/Store/High/E.swift", "extension Leaf {\n  func growTall(_ byMetres: Int) {}\n}")
    let wrong = Self.file("Sources/Store/Low/F.swift", "extension Leaf {\n  func a() { growTall(1) }\n}")
    let findings = RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound + [above, wrong])
    #expect(findings.map(\.line) == [2] && findings[0].path == wrong.path)
    // A name that is declared below too can't be told, and one of one word may be anybody's.
    let below = Self.file("Sources/Store/Low/G.swift", "let growTall = 1")
    #expect(
      RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound + [above, wrong, below]).isEmpty)
    let other = Self.file("Sources/Base/G.swift", "func growTall() {}")
    #expect(
      RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound + [above, wrong, other]).isEmpty)
    let short = Self.file("Sources/Store/Low/F.swift", "let grown = leaf.grow()")
    let grow = Self.file("Sources/Store/High/E.swift", "extension Leaf {\n  func grow() {}\n}")
    #expect(RoomRules.roomsUseWhatIsBelow(map: Self.map, sources: Self.sound + [grow, short]).isEmpty)
  }

  @Test func `rooms that the map lacks, or that are not there, are found`() {
    let other = [
      Self.file("Sources/Store/New/E.swift", ""), Self.file("Sources/Store/New/F.swift", ""),
    ]
    #expect(RoomRules.roomsAreListed(map: Self.map, sources: Self.sound + other).count == 1)
    #expect(RoomRules.roomsAreListed(map: Self.map, sources: Array(Self.sound[..<2])).count == 1)
    #expect(
      RoomRules.roomsAreListed(map: Self.map, sources: Self.sound + [Self.file("Sources/Else/A.swift", "")])
        .count == 1)
  }

  @Test func `a room for one file is found`() {
    #expect(RoomRules.roomsAreListed(map: Self.map, sources: Array(Self.sound[..<3])).count == 1)
  }
}
