// A keyring for a journal that is shipped: an archive without one is not whole.

import NotelogBase
import NotelogCrypto
import NotelogTestSupport

extension SimulatedDisk {
  /// Puts a keyring into the folder of a journal.
  func addKeyring() throws {
    let key = try Secret(copying: [UInt8](repeating: 7, count: 32).rawSpan)
    let vault = try Keyring.create(storeID: NotelogJournalTests.key(99), credential: .rawKey(key))
    for name in ["keyring", "keyring.copy"] { replace(name, with: vault.keyring.bytes) }
  }
}
