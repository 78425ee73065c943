// Local sockets, who is at their other end, and who may look into this process.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/prctl.h>
#endif

/// A new local socket for streams of bytes, which no other program inherits; -1 with errno.
static inline int local_socket(void) {
  int made = socket(AF_UNIX, SOCK_STREAM, 0);
  if (made >= 0) fcntl(made, F_SETFD, FD_CLOEXEC);
  return made;
}

/// Makes a local address of a path; false where it is too long for one.
static inline int local_address(const char *path, struct sockaddr_un *address) {
  memset(address, 0, sizeof *address);
  address->sun_family = AF_UNIX;
  size_t count = strlen(path);
  if (count >= sizeof address->sun_path) {
    errno = ENAMETOOLONG;
    return 0;
  }
  memcpy(address->sun_path, path, count);
  return 1;
}

/// Gives a socket its place in the file system; 0, or -1 with errno.
static inline int local_bind(int socket, const char *path) {
  struct sockaddr_un address;
  if (!local_address(path, &address)) return -1;
  return bind(socket, (const struct sockaddr *)&address, sizeof address);
}

/// Connects a socket to the one at a path; 0, or -1 with errno.
static inline int local_connect(int socket, const char *path) {
  struct sockaddr_un address;
  if (!local_address(path, &address)) return -1;
  return connect(socket, (const struct sockaddr *)&address, sizeof address);
}

/// The user at the other end of a local socket, as the kernel noted it when that end connected or began to listen; 0, or -1 with errno.
static inline int peer_user(int socket, uid_t *user) {
#if defined(__linux__)
  struct { pid_t process; uid_t user; gid_t group; } peer = {-1, (uid_t)-1, (gid_t)-1};
  socklen_t count = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &count) != 0) return -1;
  if (count != sizeof peer) {
    errno = EINVAL;
    return -1;
  }
  *user = peer.user;
  return 0;
#else
  gid_t group;
  return getpeereid(socket, user, &group);
#endif
}

/// Has the kernel let no process of the same user read this one's memory or trace it, where it can; 0, or -1 with errno.
static inline int refuse_inspection(void) {
#if defined(__linux__)
  return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#else
  return 0;
#endif
}
