// CRC-32 by carry-less multiplication, for processors that have it.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

// Folding (Gopal and others, "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ", Intel, 2009): bytes are
// polynomials over GF(2), and 16 bytes that lie n bits before others count as their product with x^n, which has a
// remainder of 32 bits. So 64 bytes at a time are folded onto the 64 bytes behind them, and at last all onto 16 bytes whose
// CRC is that of the whole.

#if defined(__x86_64__)

typedef long long checksum_lanes __attribute__((vector_size(16)));
typedef long long checksum_lanes_unaligned __attribute__((vector_size(16), aligned(1)));

/// Whether this processor can multiply without carries.
static inline bool checksum_can_fold(void) {
  uint32_t a = 1, b, c = 0, d;
  __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
  return c >> 1 & 1;
}

__attribute__((target("pclmul"), always_inline)) static inline checksum_lanes checksum_fold_lanes(
  checksum_lanes lanes, checksum_lanes factors, checksum_lanes onto
) {
  return __builtin_ia32_pclmulqdq128(lanes, factors, 0x00) ^ __builtin_ia32_pclmulqdq128(lanes, factors, 0x11) ^ onto;
}

/// Folds a multiple of 16 bytes, at least 64, into 16 bytes that have the same CRC when they start from zero; `state` is
/// the CRC register before them.
__attribute__((target("pclmul"))) static inline void checksum_fold(
  uint32_t state, const void *bytes, size_t byteCount, uint64_t *first, uint64_t *second
) {
  // x^(n + 32) and x^(n - 32) modulo the polynomial, bits reversed, for n = 512 and n = 128.
  const checksum_lanes by64 = {0x154442BD4, 0x1C6E41596}, by16 = {0x1751997D0, 0x0CCAA009E};
  const checksum_lanes_unaligned *next = (const checksum_lanes_unaligned *)bytes;
  checksum_lanes a = next[0], b = next[1], c = next[2], d = next[3];
  a ^= (checksum_lanes){(long long)state, 0};
  next += 4;
  byteCount -= 64;
  for (; byteCount >= 64; byteCount -= 64, next += 4) {
    a = checksum_fold_lanes(a, by64, next[0]);
    b = checksum_fold_lanes(b, by64, next[1]);
    c = checksum_fold_lanes(c, by64, next[2]);
    d = checksum_fold_lanes(d, by64, next[3]);
  }
  a = checksum_fold_lanes(a, by16, b);
  a = checksum_fold_lanes(a, by16, c);
  a = checksum_fold_lanes(a, by16, d);
  for (; byteCount >= 16; byteCount -= 16) a = checksum_fold_lanes(a, by16, *next++);
  *first = (uint64_t)a[0];
  *second = (uint64_t)a[1];
}

#else

static inline bool checksum_can_fold(void) { return false; }

static inline void checksum_fold(
  uint32_t state, const void *bytes, size_t byteCount, uint64_t *first, uint64_t *second
) {
  (void)state, (void)bytes, (void)byteCount;
  *first = *second = 0;
}

#endif
