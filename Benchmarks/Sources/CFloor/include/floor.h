// What the hot path is measured against: the same OpenSSL calls in C, and what other programs do.
#ifndef NOTELOG_FLOOR_H
#define NOTELOG_FLOOR_H

#include <stddef.h>
#include <stdint.h>

#if defined(__clang__)
#pragma clang assume_nonnull begin
#endif

typedef struct floor_context floor_context;

/// Contexts and a nonce buffer for one thread, under a 32-byte key.
floor_context *floor_new(const uint8_t *key);
void floor_free(floor_context *context);

// Each does the same thing `count` times and returns 0, or 1 where a call failed. A sealed value takes 40 bytes more
// than its plaintext.

/// XAES-256-GCM with cached contexts and nonces drawn 4 KiB at a time: the floor.
int floor_seal(floor_context *context, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count);
int floor_open(floor_context *context, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count);

/// AES-256-GCM under one key for all values, random IVs drawn 4 KiB at a time.
int same_key_seal(floor_context *context, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
                  uint8_t *output, size_t count);
int same_key_open(floor_context *context, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
                  uint8_t *output, size_t count);

/// What people write: RAND_bytes, HKDF and a new context for each value.
int usual_seal(const uint8_t *key, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count);
int usual_open(const uint8_t *key, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count);

/// The ancestor's scheme: a key of sixteen hexadecimal digits of SHA-1(password, salt), AES-128-CBC, nothing
/// authenticated. The output takes `salt 8 | IV 16 | ciphertext`, at most 40 bytes more than the plaintext.
int ancestor_seal(const uint8_t *key, const uint8_t *plaintext, size_t size, uint8_t *output, size_t count);
int ancestor_open(const uint8_t *key, const uint8_t *sealed, size_t size, uint8_t *output, size_t count);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
