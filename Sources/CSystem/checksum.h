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

/// Whether this processor can multiply without carries. Whoever asks first finds out, and all find the same.
static inline bool checksum_can_fold(void) {
  static int answer;
  int known = __atomic_load_n(&answer, __ATOMIC_RELAXED);
  if (known == 0) {
    uint32_t a = 1, b, c = 0, d;
    __asm__("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    known = c >> 1 & 1 ? 1 : -1;
    __atomic_store_n(&answer, known, __ATOMIC_RELAXED);
  }
  return known > 0;
}

// x^(n + 32) and x^(n - 32) modulo the polynomial, bits reversed, for n = 512 and n = 128.
#define CHECKSUM_BY_64 ((checksum_lanes){0x154442BD4, 0x1C6E41596})
#define CHECKSUM_BY_16 ((checksum_lanes){0x1751997D0, 0x0CCAA009E})

__attribute__((target("pclmul"), always_inline)) static inline checksum_lanes checksum_fold_lanes(
  checksum_lanes lanes, checksum_lanes factors, checksum_lanes onto
) {
  return __builtin_ia32_pclmulqdq128(lanes, factors, 0x00) ^ __builtin_ia32_pclmulqdq128(lanes, factors, 0x11) ^ onto;
}

/// The CRC register after 16 bytes that everything was folded onto.
__attribute__((target("pclmul"), always_inline)) static inline uint32_t checksum_reduce(checksum_lanes lanes) {
  const checksum_lanes low = {0xFFFFFFFF, 0};
  // From 128 bits to 96 and to 64: what is cut off times x^96, and times x^64.
  lanes = __builtin_ia32_pclmulqdq128(lanes, CHECKSUM_BY_16, 0x10) ^ (checksum_lanes){lanes[1], 0};
  uint64_t first = (uint64_t)lanes[0], second = (uint64_t)lanes[1];
  const checksum_lanes rest = {(long long)(first >> 32 | second << 32), (long long)(second >> 32)};
  lanes = __builtin_ia32_pclmulqdq128(lanes & low, (checksum_lanes){0x163CD6124, 0}, 0x00) ^ rest;
  // To 32 after Barrett: the quotient, by the polynomial's inverse, times the polynomial.
  const checksum_lanes polynomial = {0x1DB710641, 0x1F7011641};
  checksum_lanes quotient = __builtin_ia32_pclmulqdq128(lanes & low, polynomial, 0x10);
  lanes ^= __builtin_ia32_pclmulqdq128(quotient & low, polynomial, 0x00);
  return (uint32_t)((uint64_t)lanes[0] >> 32);
}

/// The CRC register after some bytes, at least 16; `state` is the register before them.
__attribute__((target("pclmul"))) static inline uint32_t checksum_fold(
  uint32_t state, const void *bytes, size_t byteCount
) {
  // Zeros in front change nothing where the register is zero: as many as make what is left whole lanes. The register is
  // added to the first four bytes that count.
  const size_t odd = byteCount & 15;
  const unsigned char *start = (const unsigned char *)bytes;
  unsigned char head[32] = {0};
  memcpy(head + 16 - odd, start, 16);
  memcpy(head + 16, start + odd, 16);
  uint32_t word;
  memcpy(&word, head + 16 - odd, 4);
  word ^= state;
  memcpy(head + 16 - odd, &word, 4);
  const checksum_lanes_unaligned *headLanes = (const checksum_lanes_unaligned *)head;
  checksum_lanes a = checksum_fold_lanes(headLanes[0], CHECKSUM_BY_16, headLanes[1]);

  const checksum_lanes_unaligned *next = (const checksum_lanes_unaligned *)(start + odd + 16);
  byteCount -= odd + 16;
  if (byteCount >= 64) {
    a = checksum_fold_lanes(a, CHECKSUM_BY_16, next[0]);
    checksum_lanes b = next[1], c = next[2], d = next[3];
    next += 4;
    byteCount -= 64;
    for (; byteCount >= 64; byteCount -= 64, next += 4) {
      a = checksum_fold_lanes(a, CHECKSUM_BY_64, next[0]);
      b = checksum_fold_lanes(b, CHECKSUM_BY_64, next[1]);
      c = checksum_fold_lanes(c, CHECKSUM_BY_64, next[2]);
      d = checksum_fold_lanes(d, CHECKSUM_BY_64, next[3]);
    }
    a = checksum_fold_lanes(a, CHECKSUM_BY_16, b);
    a = checksum_fold_lanes(a, CHECKSUM_BY_16, c);
    a = checksum_fold_lanes(a, CHECKSUM_BY_16, d);
  }
  for (; byteCount >= 16; byteCount -= 16) a = checksum_fold_lanes(a, CHECKSUM_BY_16, *next++);
  return checksum_reduce(a);
}

/// The CRC register after four bytes and 36 others; `state` is the register before them.
__attribute__((target("pclmul"))) static inline uint32_t checksum_fold_header(
  uint32_t state, uint32_t four, const void *others
) {
  uint32_t word;
  memcpy(&word, others, 4);
  const uint64_t first = (uint64_t)word << 32 | (four ^ state);
  const checksum_lanes_unaligned *next = (const checksum_lanes_unaligned *)((const unsigned char *)others + 4);
  checksum_lanes lanes = {0, (long long)first};
  lanes = checksum_fold_lanes(lanes, CHECKSUM_BY_16, next[0]);
  return checksum_reduce(checksum_fold_lanes(lanes, CHECKSUM_BY_16, next[1]));
}

#else

static inline bool checksum_can_fold(void) { return false; }

static inline uint32_t checksum_fold(uint32_t state, const void *bytes, size_t byteCount) {
  (void)bytes, (void)byteCount;
  return state;
}

static inline uint32_t checksum_fold_header(uint32_t state, uint32_t four, const void *others) {
  (void)four, (void)others;
  return state;
}

#endif
