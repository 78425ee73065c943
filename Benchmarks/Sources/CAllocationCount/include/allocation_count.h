// Counts every allocation of the process, whoever makes it: Swift's runtime, OpenSSL, the C library.
#ifndef NOTELOG_ALLOCATION_COUNT_H
#define NOTELOG_ALLOCATION_COUNT_H

#include <stdint.h>

/// How many allocations the calling thread has made so far; -1 where they can't be counted.
int64_t allocation_count(void);

#endif
