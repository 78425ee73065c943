// AES-256-GCM on single fields, as fast as OpenSSL's interface allows with one key.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ivByteCount = 12, tagByteCount = 16, sealByteCount = ivByteCount + tagByteCount };

typedef struct sealer sealer;

sealer *sealerCreate(void);
void sealerDestroy(sealer *sealer);
/// Writes IV, ciphertext and tag; id and field number are authenticated too. Returns the bytes written, 0 on failure.
size_t sealField(
  sealer *sealer, const uint8_t *id, uint8_t field, const void *plain, size_t byteCount, uint8_t *sealed);
/// Opens what `sealField` wrote. Returns the bytes of the plain text, or -1.
long openField(
  sealer *sealer, const uint8_t *id, uint8_t field, const uint8_t *sealed, size_t byteCount, void *plain);
