#include "sealing.h"

#include <openssl/evp.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

#include "peers.h"

struct sealer {
  EVP_CIPHER *cipher;
  // One context a direction, with the key set up once: only the IV changes from field to field.
  EVP_CIPHER_CTX *sealing, *opening;
  // RAND_bytes costs more than a seal; a buffer of it costs next to nothing.
  uint8_t random[4096];
  size_t randomUsed;
};

sealer *sealerCreate(void) {
  static const uint8_t key[32] = "the same key for every peer, 32";
  sealer *new = calloc(1, sizeof *new);
  new->cipher = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
  new->sealing = EVP_CIPHER_CTX_new();
  new->opening = EVP_CIPHER_CTX_new();
  new->randomUsed = sizeof new->random;
  static const uint8_t iv[ivByteCount];
  if (!EVP_EncryptInit_ex2(new->sealing, new->cipher, key, iv, NULL)
      || !EVP_DecryptInit_ex2(new->opening, new->cipher, key, iv, NULL)) abort();
  return new;
}

void sealerDestroy(sealer *sealer) {
  EVP_CIPHER_CTX_free(sealer->sealing);
  EVP_CIPHER_CTX_free(sealer->opening);
  EVP_CIPHER_free(sealer->cipher);
  free(sealer);
}

static void additionalData(uint8_t data[idByteCount + 1], const uint8_t *id, uint8_t field) {
  memcpy(data, id, idByteCount);
  data[idByteCount] = field;
}

size_t sealField(
  sealer *sealer, const uint8_t *id, uint8_t field, const void *plain, size_t byteCount, uint8_t *sealed
) {
  if (sealer->randomUsed + ivByteCount > sizeof sealer->random) {
    if (RAND_bytes(sealer->random, sizeof sealer->random) != 1) return 0;
    sealer->randomUsed = 0;
  }
  memcpy(sealed, sealer->random + sealer->randomUsed, ivByteCount);
  sealer->randomUsed += ivByteCount;
  uint8_t data[idByteCount + 1];
  additionalData(data, id, field);
  int count = 0;
  EVP_CIPHER_CTX *context = sealer->sealing;
  bool done = EVP_EncryptInit_ex2(context, NULL, NULL, sealed, NULL)
    && EVP_EncryptUpdate(context, NULL, &count, data, sizeof data)
    && EVP_EncryptUpdate(context, sealed + ivByteCount, &count, plain, (int)byteCount)
    && EVP_EncryptFinal_ex(context, sealed + ivByteCount + byteCount, &count)
    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, tagByteCount, sealed + ivByteCount + byteCount);
  return done ? byteCount + sealByteCount : 0;
}

long openField(
  sealer *sealer, const uint8_t *id, uint8_t field, const uint8_t *sealed, size_t byteCount, void *plain
) {
  if (byteCount < sealByteCount) return -1;
  size_t plainByteCount = byteCount - sealByteCount;
  uint8_t data[idByteCount + 1];
  additionalData(data, id, field);
  int count = 0;
  EVP_CIPHER_CTX *context = sealer->opening;
  void *tag = (void *)(sealed + ivByteCount + plainByteCount);
  bool done = EVP_DecryptInit_ex2(context, NULL, NULL, sealed, NULL)
    && EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, tagByteCount, tag)
    && EVP_DecryptUpdate(context, NULL, &count, data, sizeof data)
    && EVP_DecryptUpdate(context, plain, &count, sealed + ivByteCount, (int)plainByteCount)
    && EVP_DecryptFinal_ex(context, (uint8_t *)plain + plainByteCount, &count);
  return done ? (long)plainByteCount : -1;
}
