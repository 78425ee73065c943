// Calls that Swift cannot make: left out of the C library, or of its Swift module.
#pragma once
#include <sys/types.h>

#if defined(__linux__)
int fallocate(int descriptor, int mode, off_t offset, off_t count);
int sync_file_range(int descriptor, off_t offset, off_t count, unsigned flags);
#endif

/// Asks for a cache line that is about to be read.
static inline void prefetch_line(const void *address) { __builtin_prefetch(address); }

#include "checksum.h"
#include "kernelkeys.h"
#include "processes.h"
#include "substring.h"
