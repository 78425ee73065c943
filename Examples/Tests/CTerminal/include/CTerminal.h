// What tests need of the system that Swift cannot reach: programs on terminals of their own, the width of a character.
#ifndef CTERMINAL_H
#define CTERMINAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// Opens a pseudo-terminal and writes the path of its other end to `name`; -1 if there is none.
int terminal_open(char *name, size_t size);

/// Tells a terminal its size, and whoever runs on it.
void terminal_resize(int holder, int columns, int rows);

/// Starts `argv[0]` in `folder`, on a terminal, or with its streams to and from files where `terminal` is NULL.
pid_t program_start(
    char *const argv[], char *const envp[], const char *folder, const char *terminal, const char *input,
    const char *output);

/// The columns that the C library gives a Unicode scalar; -1 for one that is not drawn.
int scalar_column_count(uint32_t scalar);

#endif
