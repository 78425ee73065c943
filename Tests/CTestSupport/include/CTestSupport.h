// What tests need of the system that Swift cannot reach: a program on a terminal of its own, a fork.
#ifndef CTESTSUPPORT_H
#define CTESTSUPPORT_H

#include <stddef.h>
#include <sys/types.h>

/// Where a new program's streams go: three paths, or one terminal that becomes its controlling one.
struct child_streams {
  const char *input, *output, *error, *terminal;
};

/// Starts `argv[0]` in `folder`, in a session of its own and with no signal ignored; -1 if there is no process to be had.
pid_t child_start(char *const argv[], char *const envp[], const char *folder, struct child_streams streams);

/// Forks a child that runs no program, calls `body` and then waits to be killed; returns once `body` has.
pid_t child_fork(void (*body)(void *), void *context);

/// Kills a child and waits until it is gone.
void child_kill(pid_t process);

/// Opens a new pseudo-terminal and writes the path of its other end to `name`; -1 if there is none.
int terminal_open(char *name, size_t size);

#endif
