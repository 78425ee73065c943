// LMDB: a B+ tree in a memory map, one writer, readers without locks.

#include <stdio.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

#include "engine.h"

typedef struct { size_t size; void *data; } MDB_val;
typedef struct MDB_env MDB_env;
typedef struct MDB_txn MDB_txn;
typedef struct MDB_cursor MDB_cursor;
typedef unsigned MDB_dbi;

enum {
  MDB_NOSYNC = 0x10000, MDB_RDONLY = 0x20000, MDB_WRITEMAP = 0x80000, MDB_NOTLS = 0x200000,
  MDB_NORDAHEAD = 0x800000, MDB_CREATE = 0x40000, MDB_CP_COMPACT = 1,
  MDB_FIRST = 0, MDB_LAST = 6, MDB_NEXT = 8, MDB_PREV = 12, MDB_SET_RANGE = 17,
  MDB_NOTFOUND = -30798,
};

static struct {
  int (*env_create)(MDB_env **);
  int (*env_set_mapsize)(MDB_env *, size_t);
  int (*env_set_maxdbs)(MDB_env *, MDB_dbi);
  int (*env_open)(MDB_env *, const char *, unsigned, mode_t);
  int (*env_copy2)(MDB_env *, const char *, unsigned);
  int (*env_sync)(MDB_env *, int);
  void (*env_close)(MDB_env *);
  int (*txn_begin)(MDB_env *, MDB_txn *, unsigned, MDB_txn **);
  int (*txn_commit)(MDB_txn *);
  void (*txn_abort)(MDB_txn *);
  void (*txn_reset)(MDB_txn *);
  int (*txn_renew)(MDB_txn *);
  int (*dbi_open)(MDB_txn *, const char *, unsigned, MDB_dbi *);
  int (*get)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *);
  int (*put)(MDB_txn *, MDB_dbi, MDB_val *, MDB_val *, unsigned);
  int (*cursor_open)(MDB_txn *, MDB_dbi, MDB_cursor **);
  void (*cursor_close)(MDB_cursor *);
  int (*cursor_get)(MDB_cursor *, MDB_val *, MDB_val *, unsigned);
  char *(*strerror)(int);
} mdb;

typedef struct {
  MDB_env *environment;
  MDB_dbi notes, times;
  peerOptions options;
  char path[1024];
} lmdbStore;

typedef struct {
  lmdbStore *store;
  MDB_txn *reading;
  bool isGrouped;
  const char *error;
} lmdbSession;

static bool load(char *error) {
  static void *library;
  if (library) return true;
  library = libraryOpen((const char *const[]){"liblmdb.so.0", "liblmdb.so", "liblmdb.dylib", NULL}, error);
  if (!library) return false;
  bool isComplete = true;
#define FIND(name) libraryFind(library, "mdb_", #name, &mdb.name, &isComplete)
  FIND(env_create), FIND(env_set_mapsize), FIND(env_set_maxdbs), FIND(env_open), FIND(env_copy2), FIND(env_sync);
  FIND(env_close), FIND(txn_begin), FIND(txn_commit), FIND(txn_abort), FIND(txn_reset), FIND(txn_renew);
  FIND(dbi_open), FIND(get), FIND(put), FIND(cursor_open), FIND(cursor_close), FIND(cursor_get), FIND(strerror);
#undef FIND
  if (!isComplete) snprintf(error, errorByteCountMax, "liblmdb lacks a function");
  return isComplete;
}

static int openEnvironment(lmdbStore *store) {
  int result = mdb.env_create(&store->environment);
  if (result) return result;
  mdb.env_set_mapsize(store->environment, (size_t)64 << 30);
  mdb.env_set_maxdbs(store->environment, 2);
  unsigned flags = MDB_NOTLS | MDB_NORDAHEAD | (store->options.isDurable ? 0 : MDB_NOSYNC);
  MDB_txn *transaction;
  if ((result = mdb.env_open(store->environment, store->path, flags, 0600))) return result;
  if ((result = mdb.txn_begin(store->environment, NULL, 0, &transaction))) return result;
  if ((result = mdb.dbi_open(transaction, "notes", MDB_CREATE, &store->notes))) return result;
  if (store->options.hasTimeIndex && (result = mdb.dbi_open(transaction, "times", MDB_CREATE, &store->times)))
    return result;
  return mdb.txn_commit(transaction);
}

static void *lmdbOpen(const char *path, peerOptions options, char *error) {
  if (!load(error)) return NULL;
  lmdbStore *store = calloc(1, sizeof *store);
  store->options = options;
  snprintf(store->path, sizeof store->path, "%s", path);
  int result = openEnvironment(store);
  if (result == 0) return store;
  snprintf(error, errorByteCountMax, "%s", mdb.strerror(result));
  if (store->environment) mdb.env_close(store->environment);
  free(store);
  return NULL;
}

static void lmdbClose(void *opaque) {
  lmdbStore *store = opaque;
  mdb.env_sync(store->environment, 1);
  mdb.env_close(store->environment);
  free(store);
}

/// The only way to shrink it: a compacted copy, made in a folder of its own, takes its place.
static bool lmdbCompact(void *opaque) {
  lmdbStore *store = opaque;
  char folder[1100], copy[1200], data[1100];
  snprintf(folder, sizeof folder, "%s/copy", store->path);
  snprintf(copy, sizeof copy, "%s/data.mdb", folder);
  snprintf(data, sizeof data, "%s/data.mdb", store->path);
  if (mkdir(folder, 0700) != 0 || mdb.env_copy2(store->environment, folder, MDB_CP_COMPACT) != 0) return false;
  mdb.env_close(store->environment);
  if (rename(copy, data) != 0 || rmdir(folder) != 0) return false;
  return openEnvironment(store) == 0;
}

static void *lmdbBegin(void *store) {
  lmdbSession *session = calloc(1, sizeof *session);
  session->store = store;
  session->error = "";
  return session;
}

static void lmdbEnd(void *opaque) {
  lmdbSession *session = opaque;
  if (session->reading) mdb.txn_abort(session->reading);
  free(session);
}

static const char *lmdbError(void *session) { return ((lmdbSession *)session)->error; }

static bool check(lmdbSession *session, int result) {
  if (result) session->error = mdb.strerror(result);
  return result == 0;
}

static bool lmdbWrite(void *opaque, const sealedNote *notes, size_t count) {
  lmdbSession *session = opaque;
  MDB_txn *transaction;
  if (!check(session, mdb.txn_begin(session->store->environment, NULL, 0, &transaction))) return false;
  for (size_t i = 0; i < count; i++) {
    MDB_val key = {idByteCount, (void *)notes[i].id};
    MDB_val value = {notes[i].valueByteCount, (void *)notes[i].value};
    bool isPut = check(session, mdb.put(transaction, session->store->notes, &key, &value, 0));
    if (isPut && session->store->options.hasTimeIndex) {
      uint8_t bytes[timeKeyByteCount];
      timeKey(bytes, notes[i].time, notes[i].id);
      MDB_val time = {timeKeyByteCount, bytes}, nothing = {0, ""};
      isPut = check(session, mdb.put(transaction, session->store->times, &time, &nothing, 0));
    }
    if (!isPut) {
      mdb.txn_abort(transaction);
      return false;
    }
  }
  return check(session, mdb.txn_commit(transaction));
}

static bool lmdbBeginReads(void *opaque) {
  lmdbSession *session = opaque;
  session->isGrouped = true;
  // A transaction that is reset keeps its reader's slot: renewing it costs next to nothing.
  if (session->reading) return check(session, mdb.txn_renew(session->reading));
  return check(session, mdb.txn_begin(session->store->environment, NULL, MDB_RDONLY, &session->reading));
}

static void lmdbEndReads(void *opaque) {
  lmdbSession *session = opaque;
  session->isGrouped = false;
  mdb.txn_reset(session->reading);
}

static bool lmdbGet(void *opaque, const uint8_t *id, readKind kind, noteVisitor visitor, void *context) {
  lmdbSession *session = opaque;
  (void)kind;
  MDB_val key = {idByteCount, (void *)id}, value;
  sealedNote note;
  bool isAlone = !session->isGrouped;
  if (isAlone && !lmdbBeginReads(session)) return false;
  bool isFound = check(session, mdb.get(session->reading, session->store->notes, &key, &value))
    && sealedNoteDivide(&note, id, value.data, value.size) && visitor(context, &note);
  if (isAlone) lmdbEndReads(session);
  return isFound;
}

static bool lmdbScan(
  void *opaque, unsigned lower, unsigned upper, bool checking, noteVisitor visitor, void *context
) {
  lmdbSession *session = opaque;
  (void)checking;
  MDB_cursor *cursor;
  if (!lmdbBeginReads(session)) return false;
  if (!check(session, mdb.cursor_open(session->reading, session->store->notes, &cursor))) return false;
  uint8_t start = (uint8_t)lower;
  MDB_val key = {1, &start}, value;
  int result = mdb.cursor_get(cursor, &key, &value, MDB_SET_RANGE);
  bool goesOn = true;
  while (result == 0 && goesOn && *(uint8_t *)key.data < upper) {
    sealedNote note;
    goesOn = sealedNoteDivide(&note, key.data, value.data, value.size) && visitor(context, &note);
    result = mdb.cursor_get(cursor, &key, &value, MDB_NEXT);
  }
  mdb.cursor_close(cursor);
  lmdbEndReads(session);
  return goesOn && (result == 0 || result == MDB_NOTFOUND);
}

static bool lmdbNewest(void *opaque, size_t limit, noteVisitor visitor, void *context) {
  lmdbSession *session = opaque;
  MDB_cursor *cursor;
  if (!lmdbBeginReads(session)) return false;
  if (!check(session, mdb.cursor_open(session->reading, session->store->times, &cursor))) return false;
  MDB_val key, value;
  bool goesOn = true;
  for (size_t i = 0; i < limit && goesOn; i++) {
    if (mdb.cursor_get(cursor, &key, &value, i == 0 ? MDB_LAST : MDB_PREV) != 0) break;
    goesOn = lmdbGet(session, (uint8_t *)key.data + 16, readTitle, visitor, context);
  }
  mdb.cursor_close(cursor);
  lmdbEndReads(session);
  return goesOn;
}

const engine lmdbEngine = {
  "lmdb", lmdbOpen, lmdbClose, lmdbCompact, lmdbBegin, lmdbEnd, lmdbError, lmdbWrite, lmdbBeginReads,
  lmdbEndReads, lmdbGet, lmdbScan, lmdbNewest, NULL,
};
