// LevelDB and RocksDB: log-structured merge trees. Their C interfaces share names and shapes, but for the prefix.

#include <stdio.h>

#include "engine.h"

typedef struct {
  const char *prefix;
  bool isLoaded;
  void *(*open)(const void *options, const char *path, char **error);
  void (*close)(void *);
  void (*write)(void *store, const void *options, void *batch, char **error);
  char *(*get)(void *store, const void *options, const char *key, size_t keyCount, size_t *count, char **error);
  // RocksDB only: a value without a copy.
  void *(*get_pinned)(void *store, const void *options, const char *key, size_t keyCount, char **error);
  const char *(*pinnableslice_value)(const void *slice, size_t *count);
  void (*pinnableslice_destroy)(void *slice);
  void (*compact_range)(void *store, const char *, size_t, const char *, size_t);
  void (*free)(void *);
  void *(*create_iterator)(void *store, const void *options);
  void (*iter_destroy)(void *);
  unsigned char (*iter_valid)(const void *);
  void (*iter_seek)(void *, const char *, size_t);
  void (*iter_seek_to_last)(void *);
  void (*iter_next)(void *), (*iter_prev)(void *);
  const char *(*iter_key)(const void *, size_t *), *(*iter_value)(const void *, size_t *);
  void (*iter_get_error)(const void *, char **);
  void *(*writebatch_create)(void);
  void (*writebatch_destroy)(void *), (*writebatch_clear)(void *);
  void (*writebatch_put)(void *, const char *, size_t, const char *, size_t);
  void *(*options_create)(void);
  void (*options_destroy)(void *);
  void (*options_set_create_if_missing)(void *, unsigned char);
  void (*options_set_write_buffer_size)(void *, size_t);
  void (*options_set_compression)(void *, int);
  void *(*filterpolicy_create_bloom)(double);
  void *(*cache_create_lru)(size_t);
  void *(*readoptions_create)(void);
  void (*readoptions_destroy)(void *);
  void (*readoptions_set_verify_checksums)(void *, unsigned char), (*readoptions_set_fill_cache)(void *, unsigned char);
  void *(*writeoptions_create)(void);
  void (*writeoptions_destroy)(void *);
  void (*writeoptions_set_sync)(void *, unsigned char);
  // LevelDB sets these on its options, RocksDB on its table format.
  void *(*leveldb_filterpolicy_create_bloom)(int);
  void (*options_set_filter_policy)(void *, void *), (*options_set_cache)(void *, void *);
  void *(*block_based_options_create)(void);
  void (*block_based_options_set_filter_policy)(void *, void *), (*block_based_options_set_block_cache)(void *, void *);
  void (*options_set_block_based_table_factory)(void *, void *);
  void (*options_increase_parallelism)(void *, int);
  void (*options_set_keep_log_file_num)(void *, size_t);
} library;

static library level = {.prefix = "leveldb_"}, rocks = {.prefix = "rocksdb_"};

typedef struct {
  library *calls;
  void *store, *reading, *checking, *writing;
  peerOptions options;
} lsmStore;

typedef struct {
  lsmStore *store;
  void *batch;
  char error[errorByteCountMax];
} lsmSession;

static bool load(library *calls, const char *const *names, char *error) {
  if (calls->isLoaded) return true;
  void *found = libraryOpen(names, error);
  if (!found) return false;
  bool isComplete = true, isOptional;
#define FIND(name) libraryFind(found, calls->prefix, #name, &calls->name, &isComplete)
#define FIND_IF_THERE(name) libraryFind(found, calls->prefix, #name, &calls->name, &isOptional)
  FIND(open), FIND(close), FIND(write), FIND(get), FIND(compact_range), FIND(free), FIND(create_iterator);
  FIND(iter_destroy), FIND(iter_valid), FIND(iter_seek), FIND(iter_seek_to_last), FIND(iter_next), FIND(iter_prev);
  FIND(iter_key), FIND(iter_value), FIND(iter_get_error), FIND(writebatch_create), FIND(writebatch_destroy);
  FIND(writebatch_clear), FIND(writebatch_put), FIND(options_create), FIND(options_destroy);
  FIND(options_set_create_if_missing), FIND(options_set_write_buffer_size), FIND(options_set_compression);
  FIND(filterpolicy_create_bloom), FIND(cache_create_lru), FIND(readoptions_create), FIND(readoptions_destroy);
  FIND(readoptions_set_verify_checksums), FIND(readoptions_set_fill_cache), FIND(writeoptions_create);
  FIND(writeoptions_destroy), FIND(writeoptions_set_sync);
  FIND_IF_THERE(get_pinned), FIND_IF_THERE(pinnableslice_value), FIND_IF_THERE(pinnableslice_destroy);
  FIND_IF_THERE(options_set_filter_policy), FIND_IF_THERE(options_set_cache);
  FIND_IF_THERE(block_based_options_create), FIND_IF_THERE(block_based_options_set_filter_policy);
  FIND_IF_THERE(block_based_options_set_block_cache), FIND_IF_THERE(options_set_block_based_table_factory);
  FIND_IF_THERE(options_increase_parallelism), FIND_IF_THERE(options_set_keep_log_file_num);
  libraryFind(found, calls->prefix, "filterpolicy_create_bloom", &calls->leveldb_filterpolicy_create_bloom, &isOptional);
#undef FIND
#undef FIND_IF_THERE
  calls->isLoaded = isComplete;
  if (!isComplete) snprintf(error, errorByteCountMax, "%s lacks a function", names[0]);
  return isComplete;
}

static void *openWith(library *calls, const char *path, peerOptions options, char *error) {
  static const size_t cacheByteCount = (size_t)256 << 20, writeBufferByteCount = (size_t)64 << 20;
  lsmStore *store = calloc(1, sizeof *store);
  store->calls = calls;
  store->options = options;
  void *settings = calls->options_create();
  calls->options_set_create_if_missing(settings, 1);
  calls->options_set_write_buffer_size(settings, writeBufferByteCount);
  // Ciphertext does not compress.
  calls->options_set_compression(settings, 0);
  if (calls == &level) {
    calls->options_set_filter_policy(settings, calls->leveldb_filterpolicy_create_bloom(10));
    calls->options_set_cache(settings, calls->cache_create_lru(cacheByteCount));
  } else {
    void *table = calls->block_based_options_create();
    calls->block_based_options_set_filter_policy(table, calls->filterpolicy_create_bloom(10));
    calls->block_based_options_set_block_cache(table, calls->cache_create_lru(cacheByteCount));
    calls->options_set_block_based_table_factory(settings, table);
    calls->options_increase_parallelism(settings, 2);
    calls->options_set_keep_log_file_num(settings, 1);
  }
  store->reading = calls->readoptions_create();
  // The tags of the fields that are opened say more than a block's checksum.
  calls->readoptions_set_verify_checksums(store->reading, 0);
  store->checking = calls->readoptions_create();
  calls->readoptions_set_verify_checksums(store->checking, 1);
  calls->readoptions_set_fill_cache(store->checking, 0);
  store->writing = calls->writeoptions_create();
  calls->writeoptions_set_sync(store->writing, options.isDurable);
  char *message = NULL;
  store->store = calls->open(settings, path, &message);
  calls->options_destroy(settings);
  if (store->store) return store;
  snprintf(error, errorByteCountMax, "%s", message ? message : "open failed");
  free(store);
  return NULL;
}

static void *levelOpen(const char *path, peerOptions options, char *error) {
  static const char *const names[] = {"libleveldb.so.1d", "libleveldb.so.1", "libleveldb.so", "libleveldb.dylib", NULL};
  return load(&level, names, error) ? openWith(&level, path, options, error) : NULL;
}

static void *rocksOpen(const char *path, peerOptions options, char *error) {
  static const char *const names[] = {"librocksdb.so", "librocksdb.so.7.8", "librocksdb.dylib", NULL};
  return load(&rocks, names, error) ? openWith(&rocks, path, options, error) : NULL;
}

static void lsmClose(void *opaque) {
  lsmStore *store = opaque;
  store->calls->readoptions_destroy(store->reading);
  store->calls->readoptions_destroy(store->checking);
  store->calls->writeoptions_destroy(store->writing);
  store->calls->close(store->store);
  free(store);
}

static bool lsmCompact(void *opaque) {
  lsmStore *store = opaque;
  store->calls->compact_range(store->store, NULL, 0, NULL, 0);
  return true;
}

static void *lsmBegin(void *store) {
  lsmSession *session = calloc(1, sizeof *session);
  session->store = store;
  session->batch = session->store->calls->writebatch_create();
  return session;
}

static void lsmEnd(void *opaque) {
  lsmSession *session = opaque;
  session->store->calls->writebatch_destroy(session->batch);
  free(session);
}

static const char *lsmError(void *session) { return ((lsmSession *)session)->error; }

static bool check(lsmSession *session, char *message) {
  if (!message) return true;
  snprintf(session->error, sizeof session->error, "%s", message);
  session->store->calls->free(message);
  return false;
}

static bool lsmWrite(void *opaque, const sealedNote *notes, size_t count) {
  lsmSession *session = opaque;
  library *calls = session->store->calls;
  calls->writebatch_clear(session->batch);
  for (size_t i = 0; i < count; i++) {
    calls->writebatch_put(
      session->batch, (const char *)notes[i].id, idByteCount, (const char *)notes[i].value, notes[i].valueByteCount);
    if (session->store->options.hasTimeIndex) {
      uint8_t key[timeKeyByteCount];
      timeKey(key, notes[i].time, notes[i].id);
      calls->writebatch_put(session->batch, (const char *)key, sizeof key, "", 0);
    }
  }
  char *message = NULL;
  calls->write(session->store->store, session->store->writing, session->batch, &message);
  return check(session, message);
}

static bool lsmBeginReads(void *session) { return session != NULL; }
static void lsmEndReads(void *session) { (void)session; }

static bool lsmGet(void *opaque, const uint8_t *id, readKind kind, noteVisitor visitor, void *context) {
  lsmSession *session = opaque;
  lsmStore *store = session->store;
  library *calls = store->calls;
  (void)kind;
  sealedNote note;
  char *message = NULL;
  size_t byteCount = 0;
  bool isFound;
  if (calls->get_pinned) {
    void *slice = calls->get_pinned(store->store, store->reading, (const char *)id, idByteCount, &message);
    const char *value = slice ? calls->pinnableslice_value(slice, &byteCount) : NULL;
    isFound = value && sealedNoteDivide(&note, id, value, byteCount) && visitor(context, &note);
    if (slice) calls->pinnableslice_destroy(slice);
  } else {
    char *value = calls->get(store->store, store->reading, (const char *)id, idByteCount, &byteCount, &message);
    isFound = value && sealedNoteDivide(&note, id, value, byteCount) && visitor(context, &note);
    if (value) calls->free(value);
  }
  return check(session, message) && isFound;
}

static bool lsmScan(
  void *opaque, unsigned lower, unsigned upper, bool checking, noteVisitor visitor, void *context
) {
  lsmSession *session = opaque;
  library *calls = session->store->calls;
  void *options = checking ? session->store->checking : session->store->reading;
  void *iterator = calls->create_iterator(session->store->store, options);
  char start = (char)lower;
  bool goesOn = true;
  for (calls->iter_seek(iterator, &start, 1); goesOn && calls->iter_valid(iterator); calls->iter_next(iterator)) {
    size_t keyCount, byteCount;
    const uint8_t *key = (const uint8_t *)calls->iter_key(iterator, &keyCount);
    if (*key >= upper) break;
    if (keyCount != idByteCount) continue;
    const char *value = calls->iter_value(iterator, &byteCount);
    sealedNote note;
    goesOn = sealedNoteDivide(&note, key, value, byteCount) && visitor(context, &note);
  }
  char *message = NULL;
  calls->iter_get_error(iterator, &message);
  calls->iter_destroy(iterator);
  return check(session, message) && goesOn;
}

static bool lsmNewest(void *opaque, size_t limit, noteVisitor visitor, void *context) {
  lsmSession *session = opaque;
  library *calls = session->store->calls;
  void *iterator = calls->create_iterator(session->store->store, session->store->reading);
  calls->iter_seek_to_last(iterator);
  bool goesOn = true;
  for (size_t i = 0; i < limit && goesOn && calls->iter_valid(iterator); i++) {
    size_t keyCount;
    const uint8_t *key = (const uint8_t *)calls->iter_key(iterator, &keyCount);
    if (keyCount != timeKeyByteCount) break;
    goesOn = lsmGet(session, key + 16, readTitle, visitor, context);
    calls->iter_prev(iterator);
  }
  calls->iter_destroy(iterator);
  return goesOn;
}

const engine levelEngine = {
  "leveldb", levelOpen, lsmClose, lsmCompact, lsmBegin, lsmEnd, lsmError, lsmWrite, lsmBeginReads, lsmEndReads,
  lsmGet, lsmScan, lsmNewest, NULL,
};

const engine rocksEngine = {
  "rocksdb", rocksOpen, lsmClose, lsmCompact, lsmBegin, lsmEnd, lsmError, lsmWrite, lsmBeginReads, lsmEndReads,
  lsmGet, lsmScan, lsmNewest, NULL,
};
