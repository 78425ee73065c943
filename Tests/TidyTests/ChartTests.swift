// The charts in docs/charts say the same as the measurements that they are drawn from.

import Foundation
import Testing

@Suite struct ChartTests {
  /// A mark of a chart: which figure it stands for, and what it says.
  private struct Mark {
    let file: String
    let key: String
    let value: Double
  }

  private static func marks(of chart: File) throws -> [Mark] {
    let pattern = /data-file="([^"]*)" data-key="([^"]*)" data-value="([^"]*)"/
    return try chart.text.matches(of: pattern).map { match in
      Mark(file: String(match.1), key: String(match.2), value: try #require(Double(match.3)))
    }
  }

  /// The figures of one file of results, by what charts call them.
  private static func figures(of file: String) throws -> [String: Double] {
    var figures: [String: Double] = [:]
    for line in try Repository.file("Benchmarks/Results/\(file)").lines where !line.isEmpty {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8))
      let fields = try #require(object as? [String: Any])
      if let name = fields["case"] as? String {
        for figure in ["nanoseconds", "floorNanoseconds"] {
          figures["\(name)/\(figure)"] = fields[figure] as? Double
        }
      } else if let workload = fields["workload"] as? String, let value = fields["value"] as? Double {
        figures[workload] = value
        if let engine = fields["engine"] as? String { figures["\(engine)/\(workload)"] = value }
      }
    }
    return figures
  }

  @Test(arguments: ["workloads", "sealing", "growth", "shipping"])
  func `each mark of a chart has its measurement's value, in light and dark`(name: String) throws {
    var counts: Set<Int> = []
    for theme in ["light", "dark"] {
      let marks = try Self.marks(of: try Repository.file("docs/charts/\(name)-\(theme).svg"))
      counts.insert(marks.count)
      #expect(marks.count > 20)
      for mark in marks {
        #expect(try Self.figures(of: mark.file)[mark.key] == mark.value, "\(mark.key) in \(name)-\(theme)")
      }
    }
    #expect(counts.count == 1)
  }

  @Test func `every engine's figure of every compared workload is in the chart`() throws {
    let drawn = Set(try Self.marks(of: try Repository.file("docs/charts/workloads-light.svg")).map(\.key))
    let measured = try Self.figures(of: "notes-2.jsonl").keys.filter { key in
      ["notelog", "sqlite", "lmdb", "leveldb", "rocksdb"].contains { key.hasPrefix($0 + "/") }
    }
    let compared = measured.filter { key in
      measured.contains { $0.split(separator: "/")[1] == key.split(separator: "/")[1] && $0 != key }
    }
    #expect(Set(compared) == drawn)
  }
}
