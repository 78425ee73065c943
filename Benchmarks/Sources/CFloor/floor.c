// The same EVP calls as NotelogCrypto's, in C: the floor of the hot path.
#include "floor.h"

#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <stdlib.h>
#include <string.h>

enum { salt_size = 12, iv_size = 12, nonce_size = 24, tag_size = 16, buffer_size = 160 * nonce_size };

struct floor_context {
  EVP_CIPHER *ecb, *gcm;
  EVP_CIPHER_CTX *blocks, *sealing, *opening, *same_sealing, *same_opening;
  OSSL_PARAM tag_parameter[2];
  uint8_t tag[tag_size];
  uint64_t prefixes[4];
  uint8_t subkey[32];
  size_t cursor;
  uint8_t nonces[buffer_size];
};

floor_context *floor_new(const uint8_t *key) {
  floor_context *c = calloc(1, sizeof *c);
  if (!c) abort();
  c->ecb = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
  c->gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
  c->blocks = EVP_CIPHER_CTX_new();
  c->sealing = EVP_CIPHER_CTX_new();
  c->opening = EVP_CIPHER_CTX_new();
  c->same_sealing = EVP_CIPHER_CTX_new();
  c->same_opening = EVP_CIPHER_CTX_new();
  c->tag_parameter[0] = OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, c->tag, tag_size);
  c->tag_parameter[1] = OSSL_PARAM_construct_end();
  c->cursor = buffer_size;
  uint8_t iv[iv_size] = {0};
  EVP_EncryptInit_ex2(c->blocks, c->ecb, key, NULL, NULL);
  EVP_CIPHER_CTX_set_padding(c->blocks, 0);
  EVP_EncryptInit_ex2(c->sealing, c->gcm, NULL, NULL, NULL);
  EVP_DecryptInit_ex2(c->opening, c->gcm, NULL, NULL, NULL);
  EVP_EncryptInit_ex2(c->same_sealing, c->gcm, key, iv, NULL);
  EVP_DecryptInit_ex2(c->same_opening, c->gcm, key, iv, NULL);
  uint8_t k1[16] = {0};
  int n;
  EVP_EncryptUpdate(c->blocks, k1, &n, k1, 16);
  uint8_t carry = (uint8_t)(k1[0] >> 7);
  for (int i = 0; i < 15; i++) k1[i] = (uint8_t)(k1[i] << 1 | k1[i + 1] >> 7);
  k1[15] = (uint8_t)(k1[15] << 1 ^ (carry ? 0x87 : 0));
  for (uint8_t half = 0; half < 2; half++) {
    uint8_t block[16] = {0, (uint8_t)(half + 1), 'X', 0};
    for (int i = 0; i < 16; i++) block[i] ^= k1[i];
    memcpy(&c->prefixes[2 * half], block, 16);
  }
  return c;
}

void floor_free(floor_context *c) {
  EVP_CIPHER_CTX_free(c->blocks);
  EVP_CIPHER_CTX_free(c->sealing);
  EVP_CIPHER_CTX_free(c->opening);
  EVP_CIPHER_CTX_free(c->same_sealing);
  EVP_CIPHER_CTX_free(c->same_opening);
  EVP_CIPHER_free(c->ecb);
  EVP_CIPHER_free(c->gcm);
  free(c);
}

static inline int draw(floor_context *c, uint8_t *nonce) {
  if (c->cursor == buffer_size) {
    if (RAND_bytes(c->nonces, buffer_size) != 1) return 1;
    c->cursor = 0;
  }
  memcpy(nonce, c->nonces + c->cursor, nonce_size);
  memset(c->nonces + c->cursor, 0, nonce_size);
  c->cursor += nonce_size;
  return 0;
}

static inline int derive(floor_context *c, const uint8_t *salt) {
  uint64_t low, high, blocks[4];
  uint8_t padded[16] = {0};
  memcpy(padded + 4, salt, salt_size);
  memcpy(&low, padded, 8);
  memcpy(&high, padded + 8, 8);
  blocks[0] = c->prefixes[0] ^ low;
  blocks[1] = c->prefixes[1] ^ high;
  blocks[2] = c->prefixes[2] ^ low;
  blocks[3] = c->prefixes[3] ^ high;
  int n;
  return EVP_EncryptUpdate(c->blocks, c->subkey, &n, (const uint8_t *)blocks, 32) != 1;
}

int floor_seal(floor_context *c, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count) {
  int n;
  for (size_t i = 0; i < count; i++) {
    if (draw(c, output) || derive(c, output)) return 1;
    if (EVP_EncryptInit_ex2(c->sealing, NULL, c->subkey, output + salt_size, NULL) != 1) return 1;
    if (EVP_EncryptUpdate(c->sealing, NULL, &n, aad, (int)aad_size) != 1) return 1;
    if (EVP_EncryptUpdate(c->sealing, output + nonce_size, &n, plaintext, (int)size) != 1) return 1;
    if (EVP_EncryptFinal_ex(c->sealing, output + nonce_size + size, &n) != 1) return 1;
    if (EVP_CIPHER_CTX_get_params(c->sealing, c->tag_parameter) != 1) return 1;
    memcpy(output + nonce_size + size, c->tag, tag_size);
  }
  return 0;
}

int floor_open(floor_context *c, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count) {
  int n;
  for (size_t i = 0; i < count; i++) {
    if (derive(c, sealed)) return 1;
    memcpy(c->tag, sealed + nonce_size + size, tag_size);
    if (EVP_DecryptInit_ex2(c->opening, NULL, c->subkey, sealed + salt_size, c->tag_parameter) != 1) return 1;
    if (EVP_DecryptUpdate(c->opening, NULL, &n, aad, (int)aad_size) != 1) return 1;
    if (EVP_DecryptUpdate(c->opening, output, &n, sealed + nonce_size, (int)size) != 1) return 1;
    if (EVP_DecryptFinal_ex(c->opening, output + size, &n) != 1) return 1;
  }
  return 0;
}

int same_key_seal(floor_context *c, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
                  uint8_t *output, size_t count) {
  int n;
  for (size_t i = 0; i < count; i++) {
    if (draw(c, output)) return 1;
    if (EVP_EncryptInit_ex2(c->same_sealing, NULL, NULL, output + salt_size, NULL) != 1) return 1;
    if (EVP_EncryptUpdate(c->same_sealing, NULL, &n, aad, (int)aad_size) != 1) return 1;
    if (EVP_EncryptUpdate(c->same_sealing, output + nonce_size, &n, plaintext, (int)size) != 1) return 1;
    if (EVP_EncryptFinal_ex(c->same_sealing, output + nonce_size + size, &n) != 1) return 1;
    if (EVP_CIPHER_CTX_get_params(c->same_sealing, c->tag_parameter) != 1) return 1;
    memcpy(output + nonce_size + size, c->tag, tag_size);
  }
  return 0;
}

int same_key_open(floor_context *c, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
                  uint8_t *output, size_t count) {
  int n;
  for (size_t i = 0; i < count; i++) {
    memcpy(c->tag, sealed + nonce_size + size, tag_size);
    if (EVP_DecryptInit_ex2(c->same_opening, NULL, NULL, sealed + salt_size, c->tag_parameter) != 1) return 1;
    if (EVP_DecryptUpdate(c->same_opening, NULL, &n, aad, (int)aad_size) != 1) return 1;
    if (EVP_DecryptUpdate(c->same_opening, output, &n, sealed + nonce_size, (int)size) != 1) return 1;
    if (EVP_DecryptFinal_ex(c->same_opening, output + size, &n) != 1) return 1;
  }
  return 0;
}
