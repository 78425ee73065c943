// Starts a program the way a shell or a terminal does, or a child without one.
#define _GNU_SOURCE
#include "CTestSupport.h"

#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static void open_as(const char *path, int flags, int descriptor) {
  int file = open(path, flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
  if (file != descriptor) close(file);
}

pid_t child_start(char *const argv[], char *const envp[], const char *folder, struct child_streams streams) {
  pid_t process = fork();
  if (process != 0) return process;
  // Only calls that are safe between fork and exec follow.
  for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  // What a test writes passwords into is its own alone.
  umask(077);
  if (chdir(folder) != 0) _exit(126);
  if (streams.terminal != NULL) {
    open_as(streams.terminal, O_RDWR, 0);
    ioctl(0, TIOCSCTTY, 0);
    dup2(0, 1);
    dup2(0, 2);
  } else {
    open_as(streams.input, O_RDONLY, 0);
    open_as(streams.output, O_WRONLY | O_CREAT | O_TRUNC, 1);
    open_as(streams.error, O_WRONLY | O_CREAT | O_TRUNC, 2);
  }
  execve(argv[0], argv, envp);
  _exit(127);
}

pid_t child_fork(void (*body)(void *), void *context) {
  int done[2];
  if (pipe2(done, O_CLOEXEC) != 0) return -1;
  pid_t process = fork();
  if (process == 0) {
    body(context);
    if (write(done[1], "", 1) != 1) _exit(1);
    for (;;) pause();
  }
  close(done[1]);
  char byte;
  if (process > 0 && read(done[0], &byte, 1) != 1) {
    child_kill(process);
    process = -1;
  }
  close(done[0]);
  return process;
}

void child_kill(pid_t process) {
  kill(process, SIGKILL);
  waitpid(process, NULL, 0);
}

int terminal_open(char *name, size_t size) {
  int holder = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (holder < 0) return -1;
  const char *path = grantpt(holder) == 0 && unlockpt(holder) == 0 ? ptsname(holder) : NULL;
  if (path == NULL || strlen(path) >= size) {
    close(holder);
    return -1;
  }
  strcpy(name, path);
  return holder;
}
