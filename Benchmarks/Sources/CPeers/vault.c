// A vault over SQLite, as a careful programmer would write it: prepared statements, indexes, foreign keys that cascade.

#include "vault.h"

#include <ctype.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <stdio.h>

#include "engine.h"
#include "sealing.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { SQLITE_ROW = 100, SQLITE_DONE = 101, SQLITE_OPEN_READWRITE = 2, SQLITE_OPEN_CREATE = 4, SQLITE_OPEN_NOMUTEX = 0x8000 };
enum { fieldTitle = 1, fieldDomain, fieldUser, fieldPassword, fieldNotes, textByteCountMax = 256 };

static struct {
  int (*open_v2)(const char *, sqlite3 **, int, const char *);
  int (*close)(sqlite3 *);
  int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
  int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
  int (*step)(sqlite3_stmt *);
  int (*reset)(sqlite3_stmt *);
  int (*finalize)(sqlite3_stmt *);
  int (*bind_blob)(sqlite3_stmt *, int, const void *, int, void (*)(void *));
  int (*bind_int64)(sqlite3_stmt *, int, int64_t);
  const void *(*column_blob)(sqlite3_stmt *, int);
  int (*column_bytes)(sqlite3_stmt *, int);
} sq;

enum { begin, commit, putFolder, putAccount, putState, find, titles, deleteFolder, statementCount };

static const char *const statements[statementCount] = {
  "BEGIN IMMEDIATE", "COMMIT", "INSERT INTO folder VALUES (?, ?)",
  "INSERT INTO account VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET folder = excluded.folder, "
  "created = excluded.created, digest = excluded.digest, title = excluded.title, domain = excluded.domain, "
  "user = excluded.user, password = excluded.password, notes = excluded.notes",
  "INSERT OR REPLACE INTO state VALUES (?, ?, ?, 0)",
  "SELECT id, domain, title, user, password FROM account WHERE digest = ?", "SELECT id, title FROM account",
  "DELETE FROM folder WHERE id = ?",
};

static const char *const schema =
  "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON; PRAGMA mmap_size = 17179869184;"
  "CREATE TABLE IF NOT EXISTS folder (id BLOB PRIMARY KEY, name BLOB) WITHOUT ROWID;"
  "CREATE TABLE IF NOT EXISTS account (id BLOB PRIMARY KEY, folder BLOB REFERENCES folder ON DELETE CASCADE,"
  " created INTEGER, digest BLOB, title BLOB, domain BLOB, user BLOB, password BLOB, notes BLOB) WITHOUT ROWID;"
  "CREATE TABLE IF NOT EXISTS state (id BLOB PRIMARY KEY, account BLOB REFERENCES account ON DELETE CASCADE,"
  " changed INTEGER, isSent INTEGER) WITHOUT ROWID;"
  "CREATE INDEX IF NOT EXISTS digests ON account (digest); CREATE INDEX IF NOT EXISTS folders ON account (folder);"
  "CREATE INDEX IF NOT EXISTS accounts ON state (account); CREATE INDEX IF NOT EXISTS changes ON state (changed);";

struct vault {
  sqlite3 *connection;
  sqlite3_stmt *statement[statementCount];
  sealer *sealer;
};

static bool load(char *error) {
  static void *library;
  if (library) return true;
  library = libraryOpen((const char *const[]){"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib", NULL}, error);
  if (!library) return false;
  bool isComplete = true;
#define FIND(name) libraryFind(library, "sqlite3_", #name, &sq.name, &isComplete)
  FIND(open_v2), FIND(close), FIND(exec), FIND(prepare_v2), FIND(step), FIND(reset), FIND(finalize), FIND(bind_blob);
  FIND(bind_int64), FIND(column_blob), FIND(column_bytes);
#undef FIND
  if (!isComplete) snprintf(error, errorByteCountMax, "libsqlite3 lacks a function");
  return isComplete;
}

vault *vaultOpen(const char *path, char *error) {
  if (!load(error)) return NULL;
  vault *new = calloc(1, sizeof *new);
  char name[1024];
  snprintf(name, sizeof name, "%s/vault.sqlite", path);
  new->sealer = sealerCreate();
  bool isOpen =
    sq.open_v2(name, &new->connection, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, NULL) == 0
    && sq.exec(new->connection, schema, NULL, NULL, NULL) == 0;
  for (size_t i = 0; isOpen && i < statementCount; i++) {
    isOpen = sq.prepare_v2(new->connection, statements[i], -1, &new->statement[i], NULL) == 0;
  }
  if (isOpen) return new;
  snprintf(error, errorByteCountMax, "the vault over SQLite can't be opened");
  vaultClose(new);
  return NULL;
}

void vaultClose(vault *vault) {
  for (size_t i = 0; i < statementCount; i++) sq.finalize(vault->statement[i]);
  sq.close(vault->connection);
  sealerDestroy(vault->sealer);
  free(vault);
}

/// An id that looks random and follows from a number.
static void makeID(uint8_t id[idByteCount], const char *kind, size_t number) {
  uint64_t state = number * 8 + (uint64_t)*kind;
  for (size_t half = 0; half < 2; half++) {
    uint64_t value = state += 0x9E3779B97F4A7C15;
    value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9;
    value = (value ^ value >> 27) * 0x94D049BB133111EB;
    value ^= value >> 31;
    memcpy(id + 8 * half, &value, 8);
  }
}

/// The digest by which a domain is found.
static void digestDomain(uint8_t digest[16], const char *domain) {
  static const uint8_t key[32] = "the key of digests, and no more";
  char lower[textByteCountMax];
  size_t count = 0;
  for (; domain[count] && count < sizeof lower; count++) lower[count] = (char)tolower((unsigned char)domain[count]);
  uint8_t whole[32];
  HMAC(EVP_sha256(), key, sizeof key, (const uint8_t *)lower, count, whole, NULL);
  memcpy(digest, whole, 16);
}

static bool run(sqlite3_stmt *statement) {
  int result = sq.step(statement);
  sq.reset(statement);
  return result == SQLITE_DONE;
}

static bool putOne(vault *vault, size_t folder, size_t number) {
  uint8_t id[idByteCount], folderID[idByteCount], stateID[idByteCount], digest[16];
  makeID(id, "account", number), makeID(folderID, "folder", folder), makeID(stateID, "state", number);
  char text[5][textByteCountMax];
  snprintf(text[0], textByteCountMax, "Title of account %zu", number);
  snprintf(text[1], textByteCountMax, "Host%zu.example.org", number % 1000);
  snprintf(text[2], textByteCountMax, "user%zu@example.org", number);
  snprintf(text[3], textByteCountMax, "password number %zu", number);
  memset(text[4], 'n', 200), text[4][200] = 0;
  digestDomain(digest, text[1]);
  sqlite3_stmt *account = vault->statement[putAccount], *state = vault->statement[putState];
  sq.bind_blob(account, 1, id, sizeof id, NULL);
  sq.bind_blob(account, 2, folderID, sizeof folderID, NULL);
  sq.bind_int64(account, 3, (int64_t)number);
  sq.bind_blob(account, 4, digest, sizeof digest, NULL);
  uint8_t sealed[5][textByteCountMax + sealByteCount];
  for (uint8_t i = 0; i < 5; i++) {
    size_t count = sealField(vault->sealer, id, (uint8_t)(fieldTitle + i), text[i], strlen(text[i]), sealed[i]);
    if (count == 0) return false;
    sq.bind_blob(account, 5 + i, sealed[i], (int)count, NULL);
  }
  sq.bind_blob(state, 1, stateID, sizeof stateID, NULL);
  sq.bind_blob(state, 2, id, sizeof id, NULL);
  sq.bind_int64(state, 3, (int64_t)number);
  return run(account) && run(state);
}

bool vaultFill(vault *vault, size_t folder, size_t first, size_t count) {
  uint8_t id[idByteCount], sealed[textByteCountMax + sealByteCount];
  makeID(id, "folder", folder);
  size_t sealedCount = sealField(vault->sealer, id, fieldTitle, "Folder", 6, sealed);
  sq.bind_blob(vault->statement[putFolder], 1, id, sizeof id, NULL);
  sq.bind_blob(vault->statement[putFolder], 2, sealed, (int)sealedCount, NULL);
  bool isDone = run(vault->statement[begin]) && run(vault->statement[putFolder]);
  for (size_t i = 0; isDone && i < count; i++) isDone = putOne(vault, folder, first + i);
  return isDone && run(vault->statement[commit]);
}

bool vaultPut(vault *vault, size_t folder, size_t number) {
  return run(vault->statement[begin]) && putOne(vault, folder, number) && run(vault->statement[commit]);
}

/// Opens a column's text. Returns its bytes, or -1.
static long openColumn(vault *vault, sqlite3_stmt *row, int column, uint8_t field, char text[textByteCountMax]) {
  int count = sq.column_bytes(row, column);
  if (count > textByteCountMax + sealByteCount) return -1;
  return openField(vault->sealer, sq.column_blob(row, 0), field, sq.column_blob(row, column), (size_t)count, text);
}

long vaultFind(vault *vault, const char *domain) {
  uint8_t digest[16];
  digestDomain(digest, domain);
  sqlite3_stmt *row = vault->statement[find];
  sq.bind_blob(row, 1, digest, sizeof digest, NULL);
  long sum = 0;
  int result;
  while ((result = sq.step(row)) == SQLITE_ROW && sum >= 0) {
    char text[textByteCountMax];
    long count = openColumn(vault, row, 1, fieldDomain, text);
    // A digest leads to it; what it says decides.
    bool isEqual = count == (long)strlen(domain);
    for (long i = 0; isEqual && i < count; i++) {
      isEqual = tolower((unsigned char)text[i]) == tolower((unsigned char)domain[i]);
    }
    if (!isEqual) continue;
    static const uint8_t fields[] = {fieldTitle, fieldUser, fieldPassword};
    for (int i = 0; i < 3; i++) {
      count = openColumn(vault, row, 2 + i, fields[i], text);
      sum = count < 0 || sum < 0 ? -1 : sum + count;
    }
  }
  sq.reset(row);
  return result == SQLITE_DONE ? sum : -1;
}

long vaultTitles(vault *vault) {
  sqlite3_stmt *row = vault->statement[titles];
  long sum = 0;
  int result;
  while ((result = sq.step(row)) == SQLITE_ROW && sum >= 0) {
    char text[textByteCountMax];
    long count = openColumn(vault, row, 1, fieldTitle, text);
    sum = count < 0 ? -1 : sum + count;
  }
  sq.reset(row);
  return result == SQLITE_DONE ? sum : -1;
}

bool vaultDeleteFolder(vault *vault, size_t folder) {
  uint8_t id[idByteCount];
  makeID(id, "folder", folder);
  sq.bind_blob(vault->statement[deleteFolder], 1, id, sizeof id, NULL);
  return run(vault->statement[deleteFolder]);
}
