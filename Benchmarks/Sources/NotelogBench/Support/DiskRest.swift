// A disk at rest before what is measured on it.
import CPeers
import Foundation

/// Waits until the disk has what was written, and for a moment more, in which it may see to what was deleted:
/// neither is to be in the time of what comes next.
func waitForDisk(seconds: Double = 1) {
  sync()
  Thread.sleep(forTimeInterval: seconds)
}
