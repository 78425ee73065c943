// Moments as text: known ones, odd ones, and that no bit is lost.
import Foundation
import Testing

@testable import NotelogCLI

@Suite struct MomentTests {
  @Test(arguments: [
    (0, "2001-01-01T00:00:00Z"), (-978_307_200, "1970-01-01T00:00:00Z"), (0.25, "2001-01-01T00:00:00.25Z"),
    (-0.25, "2000-12-31T23:59:59.75Z"), (-1, "2000-12-31T23:59:59Z"),
    (1e-9, "2001-01-01T00:00:00.000000001Z"),
    (-31_622_400, "2000-01-01T00:00:00Z"), (99_748_800, "2004-02-29T12:00:00Z"),
    (-63_113_904_000, "0001-01-01T00:00:00Z"), (252_423_993_599, "9999-12-31T23:59:59Z"),
    (817_382_323.123456, "2026-11-26T10:38:43.123456Z"),
  ])
  func `a known moment is written and read`(seconds: Double, text: String) {
    #expect(Moment.text(seconds) == text)
    #expect(Moment.seconds(text) == seconds)
  }

  @Test(arguments: [
    ("2001-01-01", 0.0), ("2001-01-01 00:00:01Z", 1), ("2001-01-01T01:30:00+01:30", 0),
    ("2000-12-31T23:00:00.50-01:00", 0.5), ("2001-01-01t00:00:00z", 0),
  ])
  func `other spellings are read`(text: String, seconds: Double) {
    #expect(Moment.seconds(text) == seconds)
  }

  /// The bug: the nearest double to the last microseconds of the year 9999 is the year 10000, which has no
  /// text.
  @Test func `the last moments of the last year stay in it, and what is outside the years is refused`() throws
  {
    let end = 252_423_993_600.0
    for digits in 1...12 {
      let text = "9999-12-31T23:59:59." + String(repeating: "9", count: digits) + "Z"
      let seconds = try #require(Moment.seconds(text))
      #expect(seconds < end, "\(text)")
      let shown = try #require(Moment.text(seconds))
      #expect(shown.hasPrefix("9999-12-31T23:59:59.9") && Moment.seconds(shown) == seconds)
    }
    #expect(Moment.seconds("9999-12-31T23:59:59.9999Z") == 252_423_993_599.9999)
    #expect(Moment.seconds("9999-12-31T23:59:59-00:01") == nil)
    #expect(Moment.seconds("9999-12-31T23:59:59.999999+00:01") == 252_423_993_539.999999)
    #expect(Moment.seconds("0000-01-01T00:00:00+00:01") == nil)
    #expect(Moment.seconds("0000-01-01T00:00:00Z").flatMap(Moment.text) == "0000-01-01T00:00:00Z")
    #expect(Moment.seconds("0000-01-01").flatMap(Moment.text) == "0000-01-01T00:00:00Z")
    #expect(Moment.seconds("0001-01-01T00:00:00Z") == -63_113_904_000)
    #expect(Moment.seconds("9999-12-31").flatMap(Moment.text) == "9999-12-31T00:00:00Z")
  }

  @Test func `fractions of one to nine digits come back as they were`() throws {
    for digits in 1...9 {
      // Nine digits are exact for some weeks around 2001 only: a double has no more.
      let text = "2001-01-02T03:04:05." + String("123456789".prefix(digits)) + "Z"
      #expect(Moment.seconds(text).flatMap(Moment.text) == text)
    }
  }

  /// Seconds since 2001 know no leap seconds.
  @Test(arguments: ["2016-12-31T23:59:60Z", "2016-12-31T23:59:60.5Z", "2017-01-01T00:59:60+01:00"])
  func `a leap second is refused`(text: String) {
    #expect(Moment.seconds(text) == nil)
  }

  @Test(arguments: [
    "", "now", "2001", "2001-13-01", "2001-02-29", "2001-00-10", "2001-01-01T", "2001-01-01T24:00:00Z",
    "2001-01-01T00:00:00", "2001-01-01T00:00:00.Z", "2001-01-01T00:00:00Zx", "2001-1-01", "٢٠٠١-01-01",
    "2001-01-01T00:00:00+1:00", "2001-01-01T00:60:00Z", "+001-01-01",
  ])
  func `what is no moment is refused`(text: String) {
    #expect(Moment.seconds(text) == nil)
  }

  @Test func `no bit is lost, of any moment that has a text`() throws {
    var generator = SystemRandomNumberGenerator()
    for round in 0..<20_000 {
      let magnitude = Double.random(in: -12...10.8, using: &generator)
      let seconds = (round % 2 == 0 ? 1 : -1) * Foundation.pow(10, magnitude)
      guard let text = Moment.text(seconds) else { continue }
      #expect(Moment.seconds(text)?.bitPattern == seconds.bitPattern, "\(seconds.bitPattern)")
    }
  }

  @Test(arguments: [Double.nan, .infinity, -.infinity, 1e18, 252_423_993_600, -63_145_526_400.5])
  func `a moment outside the years that RFC 3339 knows has no text`(seconds: Double) {
    #expect(Moment.text(seconds) == nil)
  }
}
