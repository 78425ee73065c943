// Interposes the allocator: the program's own malloc is found before the C library's.
#include "allocation_count.h"

#include <stddef.h>
#include <errno.h>

#if defined(__GLIBC__)

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

static _Thread_local int64_t count;

int64_t allocation_count(void) { return count; }

void *malloc(size_t size) { return count++, __libc_malloc(size); }
void *calloc(size_t number, size_t size) { return count++, __libc_calloc(number, size); }
void *realloc(void *pointer, size_t size) { return count++, __libc_realloc(pointer, size); }
void *memalign(size_t alignment, size_t size) { return count++, __libc_memalign(alignment, size); }
void *aligned_alloc(size_t alignment, size_t size) { return count++, __libc_memalign(alignment, size); }
void free(void *pointer) { __libc_free(pointer); }

int posix_memalign(void **pointer, size_t alignment, size_t size) {
  count++;
  void *memory = __libc_memalign(alignment, size);
  if (!memory) return ENOMEM;
  *pointer = memory;
  return 0;
}

#else

int64_t allocation_count(void) { return -1; }

#endif
