// Keys that the kernel keeps for a user: add_key(2) and keyctl(2), which the C library has no functions for. Linux only.
#pragma once
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#if defined(__linux__)
#include <linux/keyctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#define kernel_key_call syscall
#else
// There are no such keys: every call fails.
enum {
  SYS_add_key, SYS_keyctl, KEY_SPEC_PROCESS_KEYRING, KEY_SPEC_USER_KEYRING, KEYCTL_SETPERM, KEYCTL_SET_TIMEOUT,
  KEYCTL_LINK, KEYCTL_UNLINK, KEYCTL_INVALIDATE, KEYCTL_READ, KEYCTL_DESCRIBE, ENOKEY, EKEYEXPIRED, EKEYREVOKED
};

static inline long kernel_key_call(long number, ...) {
  (void)number;
  errno = ENOSYS;
  return -1;
}
#endif

/// Possessor: everything. User: see, read, search. Group and others: nothing.
static const uint32_t kernel_key_permissions = 0x3f0b0000;

/// Keeps bytes in the user's keyring for so many seconds; 0, or -1 with errno. The key has its time limit before it is where it outlives this
/// process, so that none is ever kept without one.
static inline int kernel_key_keep(const char *name, const void *bytes, size_t count, unsigned seconds) {
  long key = kernel_key_call(SYS_add_key, "user", name, bytes, count, KEY_SPEC_PROCESS_KEYRING);
  if (key < 0) return -1;
  int result = -1;
  if (kernel_key_call(SYS_keyctl, KEYCTL_SETPERM, key, kernel_key_permissions) == 0
      && kernel_key_call(SYS_keyctl, KEYCTL_SET_TIMEOUT, key, seconds) == 0
      && kernel_key_call(SYS_keyctl, KEYCTL_LINK, key, KEY_SPEC_USER_KEYRING) == 0) result = 0;
  int error = errno;
  if (result != 0) kernel_key_call(SYS_keyctl, KEYCTL_INVALIDATE, key);
  kernel_key_call(SYS_keyctl, KEYCTL_UNLINK, key, KEY_SPEC_PROCESS_KEYRING);
  errno = error;
  return result;
}

/// Reads a key, or a keyring as the numbers of its keys; how many bytes it has, or -1 with errno.
static inline long kernel_key_read(long key, void *bytes, size_t count) {
  return kernel_key_call(SYS_keyctl, KEYCTL_READ, key, bytes, count);
}

/// A key's description, "type;user;group;permissions;name"; how many bytes it has with the zero at its end, or -1 with errno.
static inline long kernel_key_describe(long key, char *text, size_t count) {
  return kernel_key_call(SYS_keyctl, KEYCTL_DESCRIBE, key, text, count);
}

/// Has the kernel forget a key at once; 0, or -1 with errno. One that went by itself meanwhile is forgotten.
static inline int kernel_key_forget(long key) {
  if (kernel_key_call(SYS_keyctl, KEYCTL_INVALIDATE, key) == 0) return 0;
  return errno == ENOKEY || errno == EKEYEXPIRED || errno == EKEYREVOKED ? 0 : -1;
}

/// The user's keyring.
static inline long kernel_keyring(void) { return KEY_SPEC_USER_KEYRING; }
