// Starts a program the way a terminal does.
#define _GNU_SOURCE
#include "CTerminal.h"

#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

int terminal_open(char *name, size_t size) {
  int holder = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  if (holder < 0) return -1;
  if (grantpt(holder) == 0 && unlockpt(holder) == 0 && ptsname_r(holder, name, size) == 0) return holder;
  close(holder);
  return -1;
}

void terminal_resize(int holder, int columns, int rows) {
  struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
  ioctl(holder, TIOCSWINSZ, &size);
}

static void open_as(const char *path, int flags, int descriptor) {
  int file = open(path, flags, 0600);
  if (file < 0 || dup2(file, descriptor) < 0) _exit(126);
  if (file != descriptor) close(file);
}

pid_t program_start(
    char *const argv[], char *const envp[], const char *folder, const char *terminal, const char *input,
    const char *output) {
  pid_t process = fork();
  if (process != 0) return process;
  // Only calls that are safe between fork and exec follow.
  for (int number = 1; number < 32; number++) signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  setsid();
  if (chdir(folder) != 0) _exit(126);
  if (terminal != NULL) {
    open_as(terminal, O_RDWR, 0);
    ioctl(0, TIOCSCTTY, 0);
    dup2(0, 1);
  } else {
    open_as(input, O_RDONLY, 0);
    open_as(output, O_WRONLY | O_CREAT | O_TRUNC, 1);
  }
  dup2(1, 2);
  execve(argv[0], argv, envp);
  _exit(127);
}

int scalar_column_count(uint32_t scalar) {
  static locale_t unicode;
  if (!unicode) unicode = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
  locale_t old = uselocale(unicode);
  int count = wcwidth((wchar_t)scalar);
  uselocale(old);
  return count;
}
