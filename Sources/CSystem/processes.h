// Other processes: programs that are started, local sockets and who is at their other end; and who may look into this one.
#pragma once
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>
#include <unistd.h>
#if defined(__linux__)
#include <linux/magic.h>
#include <sys/prctl.h>
#include <sys/vfs.h>
extern char **environ;
// The headers show it only who asks for _GNU_SOURCE.
#ifndef POSIX_SPAWN_SETSID
#define POSIX_SPAWN_SETSID 0x80
#endif
#else
#include <crt_externs.h>
#define environ (*_NSGetEnviron())
#endif

/// Starts a program with nothing to read, in this process's environment; one that is detached goes on in a session of its own, with nobody
/// listening to its stderr. Where its output is -1, it has this process's three streams. 0, or the number of an error.
static inline int start_program(pid_t *process, char *const words[], int output, int errors, bool isDetached) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  posix_spawn_file_actions_init(&actions);
  posix_spawnattr_init(&attributes);
  if (output >= 0) {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, errors, STDERR_FILENO);
  }
  if (isDetached) posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  // What this process ignores, the program should not.
  sigset_t ignored;
  sigemptyset(&ignored);
  sigaddset(&ignored, SIGPIPE);
  sigaddset(&ignored, SIGXFSZ);
  sigaddset(&ignored, SIGINT);
  sigaddset(&ignored, SIGQUIT);
  posix_spawnattr_setsigdefault(&attributes, &ignored);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | (isDetached ? POSIX_SPAWN_SETSID : 0));
  int error = posix_spawnp(process, words[0], &actions, &attributes, words, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return error;
}

/// Whether an open file or folder is in memory, and on no disk.
static inline bool is_in_memory(int file) {
#if defined(__linux__)
  struct statfs system;
  return fstatfs(file, &system) == 0 && system.f_type == TMPFS_MAGIC;
#else
  return (void)file, false;
#endif
}

/// A new local socket for streams of bytes, which no other program inherits; -1 with errno.
static inline int local_socket(void) {
  int made = socket(AF_UNIX, SOCK_STREAM, 0);
  if (made >= 0) fcntl(made, F_SETFD, FD_CLOEXEC);
  return made;
}

/// Has a socket listen at a path, or connects it to the one that does; 0, or -1 with errno.
static inline int local_open(int socket, const char *path, bool listens) {
  struct sockaddr_un address = {.sun_family = AF_UNIX};
  size_t count = strlen(path);
  if (count >= sizeof address.sun_path) {
    errno = ENAMETOOLONG;
    return -1;
  }
  memcpy(address.sun_path, path, count);
  const struct sockaddr *place = (const struct sockaddr *)&address;
  if (!listens) return connect(socket, place, sizeof address);
  return bind(socket, place, sizeof address) == 0 ? listen(socket, 64) : -1;
}

/// Whether the other end of a local socket is the user's own: nobody else's, and not the administrator's either. The kernel noted it when
/// that end connected or began to listen.
static inline bool peer_is_user(int socket) {
#if defined(__linux__)
  struct { pid_t process; uid_t user; gid_t group; } peer;
  socklen_t count = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &count) == 0 && count == sizeof peer && peer.user == geteuid();
#else
  uid_t user;
  gid_t group;
  return getpeereid(socket, &user, &group) == 0 && user == geteuid();
#endif
}

/// Has the kernel let no process of the same user read this one's memory or trace it, where it can.
static inline void refuse_inspection(void) {
#if defined(__linux__)
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
#endif
}

/// Has the kernel write no core dump of this process and its children, whatever it allowed before. Everybody may lower a limit.
static inline void refuse_core_dumps(void) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
}
