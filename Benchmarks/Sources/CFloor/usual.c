// What people write, and what the ancestor did: for scale.
#include "floor.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <string.h>

enum { salt_size = 12, iv_size = 12, nonce_size = 24, tag_size = 16 };

static int hkdf(const uint8_t *key, const uint8_t *salt, uint8_t *output) {
  EVP_KDF *kdf = EVP_KDF_fetch(NULL, "HKDF", NULL);
  EVP_KDF_CTX *context = EVP_KDF_CTX_new(kdf);
  OSSL_PARAM parameters[] = {
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, "SHA256", 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, (void *)key, 32),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_SALT, (void *)salt, salt_size),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, "field", 5), OSSL_PARAM_construct_end()};
  int done = EVP_KDF_derive(context, output, 32, parameters);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return done != 1;
}

int usual_seal(const uint8_t *key, const uint8_t *plaintext, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint8_t subkey[32];
    int n;
    if (RAND_bytes(output, nonce_size) != 1 || hkdf(key, output, subkey)) return 1;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (EVP_EncryptInit_ex(context, EVP_aes_256_gcm(), NULL, subkey, output + salt_size) != 1) return 1;
    if (EVP_EncryptUpdate(context, NULL, &n, aad, (int)aad_size) != 1) return 1;
    if (EVP_EncryptUpdate(context, output + nonce_size, &n, plaintext, (int)size) != 1) return 1;
    if (EVP_EncryptFinal_ex(context, output + nonce_size + size, &n) != 1) return 1;
    if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, tag_size, output + nonce_size + size) != 1) return 1;
    EVP_CIPHER_CTX_free(context);
  }
  return 0;
}

int usual_open(const uint8_t *key, const uint8_t *sealed, size_t size, const uint8_t *aad, size_t aad_size,
               uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint8_t subkey[32], tag[tag_size];
    int n;
    if (hkdf(key, sealed, subkey)) return 1;
    memcpy(tag, sealed + nonce_size + size, tag_size);
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (EVP_DecryptInit_ex(context, EVP_aes_256_gcm(), NULL, subkey, sealed + salt_size) != 1) return 1;
    if (EVP_DecryptUpdate(context, NULL, &n, aad, (int)aad_size) != 1) return 1;
    if (EVP_DecryptUpdate(context, output, &n, sealed + nonce_size, (int)size) != 1) return 1;
    if (EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_SET_TAG, tag_size, tag) != 1) return 1;
    if (EVP_DecryptFinal_ex(context, output + size, &n) != 1) return 1;
    EVP_CIPHER_CTX_free(context);
  }
  return 0;
}

static int ancestor_key(const uint8_t *key, const uint8_t *salt, uint8_t *output) {
  static const char digits[] = "0123456789abcdef";
  uint8_t message[40], digest[20];
  memcpy(message, key, 32);
  memcpy(message + 32, salt, 8);
  if (EVP_Digest(message, sizeof message, digest, NULL, EVP_sha1(), NULL) != 1) return 1;
  for (int i = 0; i < 16; i++) output[i] = (uint8_t)digits[i % 2 ? digest[i / 2] & 15 : digest[i / 2] >> 4];
  return 0;
}

int ancestor_seal(const uint8_t *key, const uint8_t *plaintext, size_t size, uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint8_t subkey[16];
    int n, last;
    if (RAND_bytes(output, 24) != 1 || ancestor_key(key, output, subkey)) return 1;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (EVP_EncryptInit_ex(context, EVP_aes_128_cbc(), NULL, subkey, output + 8) != 1) return 1;
    if (EVP_EncryptUpdate(context, output + 24, &n, plaintext, (int)size) != 1) return 1;
    if (EVP_EncryptFinal_ex(context, output + 24 + n, &last) != 1) return 1;
    EVP_CIPHER_CTX_free(context);
  }
  return 0;
}

int ancestor_open(const uint8_t *key, const uint8_t *sealed, size_t size, uint8_t *output, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint8_t subkey[16];
    int n, last;
    if (ancestor_key(key, sealed, subkey)) return 1;
    EVP_CIPHER_CTX *context = EVP_CIPHER_CTX_new();
    if (EVP_DecryptInit_ex(context, EVP_aes_128_cbc(), NULL, subkey, sealed + 8) != 1) return 1;
    if (EVP_DecryptUpdate(context, output, &n, sealed + 24, (int)(size / 16 * 16 + 16)) != 1) return 1;
    if (EVP_DecryptFinal_ex(context, output + n, &last) != 1) return 1;
    EVP_CIPHER_CTX_free(context);
  }
  return 0;
}
