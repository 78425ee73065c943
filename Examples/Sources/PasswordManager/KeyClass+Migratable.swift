// When a secret may be read and whether it may leave: the class of the key that it is sealed under.

import Notelog

extension KeyClass {
  /// Whether what is under such a key opens on another device, to which the store was copied.
  var isMigratable: Bool { !rawValue.hasSuffix("ThisDeviceOnly") }
}
