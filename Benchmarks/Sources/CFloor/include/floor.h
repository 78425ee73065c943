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

/// The same for values that share a salt, up to 256 of them, so that few need a key of their own: one value.
int floor_seal_in_run(floor_context *context, const uint8_t *plaintext, size_t size, const uint8_t *aad,
                      size_t aad_size, uint8_t *output);
int floor_open_in_run(floor_context *context, const uint8_t *sealed, size_t size, const uint8_t *aad,
                      size_t aad_size, uint8_t *output);

/// The same as the first two through EVP.
int evp_seal(floor_context *context, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
             uint8_t *output, size_t count);
int evp_open(floor_context *context, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
             uint8_t *output, size_t count);

/// AES-256-GCM through EVP under one key for all values, random IVs drawn 4 KiB at a time.
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

/// A file of notes, each with a checksum over two values sealed as `floor_seal_in_run` does: a scan with nothing around it. One
/// thread's own.
typedef struct floor_log floor_log;

floor_log *floor_log_open(const char *path, const uint8_t *key);
void floor_log_close(floor_log *log);
/// Each returns 0, or 1 where a call failed. What was appended is written when there is a window of it, or when flushed.
int floor_log_append(floor_log *log, const uint8_t *id, const void *title, size_t title_size, const void *body,
                     size_t body_size);
int floor_log_flush(floor_log *log);
/// Reads the file in pieces of 1 MiB, checks each note and opens its title (0) or its body (1). Counts those that hold the
/// needle, or all without one; -1 where a note is not what was written.
long floor_log_scan(floor_log *log, int field, const void *_Nullable needle, size_t needle_size);

#if defined(__clang__)
#pragma clang assume_nonnull end
#endif

#endif
