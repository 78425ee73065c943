// OpenSSL, for what the ancestors sealed.
#include <openssl/evp.h>
