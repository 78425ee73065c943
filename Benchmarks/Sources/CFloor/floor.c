// The same OpenSSL calls as NotelogCrypto's, in C: the floor of the hot path. And the same work through EVP.
#include "floor.h"

#include <openssl/core_dispatch.h>
#include <openssl/core_names.h>
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/provider.h>
#include <openssl/rand.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { key_size = 32, salt_size = 12, iv_size = 12, nonce_size = 24, tag_size = 16, buffer_size = 160 * nonce_size };
/// How many values may share a salt, as the last byte of the IV counts them: fewer than in the library, where that makes no difference any more.
enum { run_count = 256 };

/// What implements AES-256-GCM, as provider-cipher(7) describes it.
typedef struct {
  void *provider;
  OSSL_FUNC_cipher_newctx_fn *new;
  OSSL_FUNC_cipher_freectx_fn *free;
  OSSL_FUNC_cipher_encrypt_init_fn *start_sealing;
  OSSL_FUNC_cipher_decrypt_init_fn *start_opening;
  OSSL_FUNC_cipher_update_fn *update;
  OSSL_FUNC_cipher_final_fn *finish;
  OSSL_FUNC_cipher_get_ctx_params_fn *get_parameters;
} gcm_functions;

struct floor_context {
  EVP_CIPHER *ecb, *gcm;
  gcm_functions functions;
  void *sealing, *opening;
  EVP_CIPHER_CTX *blocks, *evp_sealing, *evp_opening, *same_sealing, *same_opening;
  OSSL_PARAM tag_parameter[2];
  uint8_t tag[tag_size];
  uint64_t prefixes[4];
  uint8_t subkey[key_size];
  // Of values that share a salt: how many more the nonce is good for, and the salt that the opening context has its key by.
  unsigned left_in_run;
  uint8_t run[nonce_size], opening_salt[salt_size];
  bool has_opening_salt;
  size_t cursor;
  uint8_t nonces[buffer_size];
};

static gcm_functions find_functions(const EVP_CIPHER *cipher) {
  gcm_functions found = {0};
  int is_volatile;
  const OSSL_PROVIDER *provider = EVP_CIPHER_get0_provider(cipher);
  const OSSL_ALGORITHM *all = OSSL_PROVIDER_query_operation(provider, OSSL_OP_CIPHER, &is_volatile), *one = all;
  while (strncmp(one->algorithm_names, "AES-256-GCM:", 12) != 0) one++;
  for (const OSSL_DISPATCH *entry = one->implementation; entry->function_id; entry++) switch (entry->function_id) {
      case OSSL_FUNC_CIPHER_NEWCTX: found.new = OSSL_FUNC_cipher_newctx(entry); break;
      case OSSL_FUNC_CIPHER_FREECTX: found.free = OSSL_FUNC_cipher_freectx(entry); break;
      case OSSL_FUNC_CIPHER_ENCRYPT_INIT: found.start_sealing = OSSL_FUNC_cipher_encrypt_init(entry); break;
      case OSSL_FUNC_CIPHER_DECRYPT_INIT: found.start_opening = OSSL_FUNC_cipher_decrypt_init(entry); break;
      case OSSL_FUNC_CIPHER_UPDATE: found.update = OSSL_FUNC_cipher_update(entry); break;
      case OSSL_FUNC_CIPHER_FINAL: found.finish = OSSL_FUNC_cipher_final(entry); break;
      case OSSL_FUNC_CIPHER_GET_CTX_PARAMS: found.get_parameters = OSSL_FUNC_cipher_get_ctx_params(entry); break;
    }
  OSSL_PROVIDER_unquery_operation(provider, OSSL_OP_CIPHER, all);
  found.provider = OSSL_PROVIDER_get0_provider_ctx(provider);
  return found;
}

floor_context *floor_new(const uint8_t *key) {
  floor_context *c = calloc(1, sizeof *c);
  if (!c) abort();
  c->ecb = EVP_CIPHER_fetch(NULL, "AES-256-ECB", NULL);
  c->gcm = EVP_CIPHER_fetch(NULL, "AES-256-GCM", NULL);
  c->blocks = EVP_CIPHER_CTX_new();
  c->functions = find_functions(c->gcm);
  c->sealing = c->functions.new(c->functions.provider);
  c->opening = c->functions.new(c->functions.provider);
  c->evp_sealing = EVP_CIPHER_CTX_new();
  c->evp_opening = EVP_CIPHER_CTX_new();
  c->same_sealing = EVP_CIPHER_CTX_new();
  c->same_opening = EVP_CIPHER_CTX_new();
  c->tag_parameter[0] = OSSL_PARAM_construct_octet_string(OSSL_CIPHER_PARAM_AEAD_TAG, c->tag, tag_size);
  c->tag_parameter[1] = OSSL_PARAM_construct_end();
  c->cursor = buffer_size;
  uint8_t iv[iv_size] = {0};
  EVP_EncryptInit_ex2(c->blocks, c->ecb, key, NULL, NULL);
  EVP_CIPHER_CTX_set_padding(c->blocks, 0);
  EVP_EncryptInit_ex2(c->evp_sealing, c->gcm, NULL, NULL, NULL);
  EVP_DecryptInit_ex2(c->evp_opening, c->gcm, NULL, NULL, NULL);
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
  c->functions.free(c->sealing);
  c->functions.free(c->opening);
  EVP_CIPHER_CTX_free(c->evp_sealing);
  EVP_CIPHER_CTX_free(c->evp_opening);
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

/// Seals under the nonce that is there already, and under the key that the context has where none is given.
static inline int seal_one(floor_context *c, const uint8_t *key, const uint8_t *plaintext, size_t size,
                           const uint8_t *aad, size_t aad_size, uint8_t *output) {
  size_t n;
  uint8_t *text = output + nonce_size;
  if (c->functions.start_sealing(c->sealing, key, key ? key_size : 0, output + salt_size, iv_size, NULL) != 1) return 1;
  if (c->functions.update(c->sealing, NULL, &n, aad_size, aad, aad_size) != 1) return 1;
  if (c->functions.update(c->sealing, text, &n, size, plaintext, size) != 1) return 1;
  if (c->functions.finish(c->sealing, text + size, &n, 0) != 1) return 1;
  if (c->functions.get_parameters(c->sealing, c->tag_parameter) != 1) return 1;
  memcpy(text + size, c->tag, tag_size);
  return 0;
}

static inline int open_one(floor_context *c, const uint8_t *key, const uint8_t *sealed, size_t size,
                           const uint8_t *aad, size_t aad_size, uint8_t *output) {
  size_t n;
  const uint8_t *text = sealed + nonce_size, *iv = sealed + salt_size;
  memcpy(c->tag, text + size, tag_size);
  if (c->functions.start_opening(c->opening, key, key ? key_size : 0, iv, iv_size, c->tag_parameter) != 1) return 1;
  if (c->functions.update(c->opening, NULL, &n, aad_size, aad, aad_size) != 1) return 1;
  if (c->functions.update(c->opening, output, &n, size, text, size) != 1) return 1;
  return c->functions.finish(c->opening, output + size, &n, 0) != 1;
}

int floor_seal(floor_context *c, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count) {
  c->left_in_run = 0;
  for (size_t i = 0; i < count; i++) {
    if (draw(c, output) || derive(c, output)) return 1;
    if (seal_one(c, c->subkey, plaintext, size, aad, aad_size, output)) return 1;
  }
  return 0;
}

int floor_open(floor_context *c, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count) {
  c->has_opening_salt = false;
  for (size_t i = 0; i < count; i++) {
    if (derive(c, sealed)) return 1;
    if (open_one(c, c->subkey, sealed, size, aad, aad_size, output)) return 1;
  }
  return 0;
}

// MARK: with a salt for several values

int floor_seal_in_run(floor_context *c, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
                      uint8_t *output) {
  const uint8_t *key = NULL;
  if (c->left_in_run == 0) {
    if (draw(c, c->run) || derive(c, c->run)) return 1;
    c->left_in_run = run_count;
    key = c->subkey;
  }
  c->run[nonce_size - 1] = (uint8_t)--c->left_in_run;
  memcpy(output, c->run, nonce_size);
  if (seal_one(c, key, plaintext, size, aad, aad_size, output) == 0) return 0;
  c->left_in_run = 0;
  return 1;
}

int floor_open_in_run(floor_context *c, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
                      uint8_t *output) {
  const uint8_t *key = NULL;
  if (!c->has_opening_salt || memcmp(c->opening_salt, sealed, salt_size) != 0) {
    if (derive(c, sealed)) return 1;
    memcpy(c->opening_salt, sealed, salt_size);
    key = c->subkey;
  }
  c->has_opening_salt = open_one(c, key, sealed, size, aad, aad_size, output) == 0;
  return !c->has_opening_salt;
}

// MARK: by EVP

/// Seals under the key that `context` has where none is given.
static int seal_by_evp(floor_context *c, EVP_CIPHER_CTX *context, const uint8_t *key, const uint8_t *plaintext,
                       size_t size, const uint8_t *aad, size_t aad_size, uint8_t *output) {
  int n;
  uint8_t *text = output + nonce_size;
  if (EVP_EncryptInit_ex2(context, NULL, key, output + salt_size, NULL) != 1) return 1;
  if (EVP_EncryptUpdate(context, NULL, &n, aad, (int)aad_size) != 1) return 1;
  if (EVP_EncryptUpdate(context, text, &n, plaintext, (int)size) != 1) return 1;
  if (EVP_EncryptFinal_ex(context, text + size, &n) != 1) return 1;
  if (EVP_CIPHER_CTX_get_params(context, c->tag_parameter) != 1) return 1;
  memcpy(text + size, c->tag, tag_size);
  return 0;
}

static int open_by_evp(floor_context *c, EVP_CIPHER_CTX *context, const uint8_t *key, const uint8_t *sealed,
                       size_t size, const uint8_t *aad, size_t aad_size, uint8_t *output) {
  int n;
  const uint8_t *text = sealed + nonce_size;
  memcpy(c->tag, text + size, tag_size);
  if (EVP_DecryptInit_ex2(context, NULL, key, sealed + salt_size, c->tag_parameter) != 1) return 1;
  if (EVP_DecryptUpdate(context, NULL, &n, aad, (int)aad_size) != 1) return 1;
  if (EVP_DecryptUpdate(context, output, &n, text, (int)size) != 1) return 1;
  return EVP_DecryptFinal_ex(context, output + size, &n) != 1;
}

int evp_seal(floor_context *c, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
             uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (draw(c, output) || derive(c, output)) return 1;
    if (seal_by_evp(c, c->evp_sealing, c->subkey, plaintext, size, aad, aad_size, output)) return 1;
  }
  return 0;
}

int evp_open(floor_context *c, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
             uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (derive(c, sealed)) return 1;
    if (open_by_evp(c, c->evp_opening, c->subkey, sealed, size, aad, aad_size, output)) return 1;
  }
  return 0;
}

int same_key_seal(floor_context *c, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
                  uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (draw(c, output)) return 1;
    if (seal_by_evp(c, c->same_sealing, NULL, plaintext, size, aad, aad_size, output)) return 1;
  }
  return 0;
}

int same_key_open(floor_context *c, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
                  uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (open_by_evp(c, c->same_opening, NULL, sealed, size, aad, aad_size, output)) return 1;
  return 0;
}
