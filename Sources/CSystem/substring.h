// Finding bytes in bytes, sixteen places at once.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

void *memmem(const void *haystack, size_t haystackCount, const void *needle, size_t needleCount);

#if defined(__x86_64__)

typedef char substring_lanes __attribute__((vector_size(16)));

/// Whether a needle of 2 to 32 bytes occurs in at least 15 bytes more.
///
/// A place is looked at where the needle's first byte stands and its last byte where it would end (Muła, "SIMD-friendly
/// algorithms for substring searching", 2016): in text, hardly one. Where all are, each costs the needle's length, so that a
/// long one is left to the C library, whose time is bounded.
static inline bool substring_occurs(const char *hay, size_t hayCount, const char *needle, size_t needleCount) {
  const size_t end = needleCount - 1, lastPlace = hayCount - needleCount - 15;
  substring_lanes first, last;
  memset(&first, needle[0], sizeof first);
  memset(&last, needle[end], sizeof last);
  for (size_t place = 0;; place += sizeof first) {
    // The last sixteen places overlap those before.
    if (place > lastPlace) place = lastPlace;
    substring_lanes starts, ends;
    memcpy(&starts, hay + place, sizeof starts);
    memcpy(&ends, hay + place + end, sizeof ends);
    unsigned candidates = (unsigned)__builtin_ia32_pmovmskb128((starts == first) & (ends == last));
    for (; candidates; candidates &= candidates - 1)
      if (memcmp(hay + place + __builtin_ctz(candidates), needle, end) == 0) return true;
    if (place == lastPlace) return false;
  }
}

#endif

/// Whether a needle of at least one byte occurs in some bytes.
static inline bool bytes_contain(const void *hay, size_t hayCount, const void *needle, size_t needleCount) {
#if defined(__x86_64__)
  if (needleCount >= 2 && needleCount <= 32 && hayCount >= needleCount + 15)
    return substring_occurs((const char *)hay, hayCount, (const char *)needle, needleCount);
#endif
  return memmem(hay, hayCount, needle, needleCount) != NULL;
}
