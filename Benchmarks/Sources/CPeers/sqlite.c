// SQLite: a B-tree in pages with a write-ahead log; one writer, readers beside it.

#include <pthread.h>
#include <stdio.h>

#include "engine.h"

typedef struct sqlite3 sqlite3;
typedef struct sqlite3_stmt sqlite3_stmt;

enum { SQLITE_OK = 0, SQLITE_ROW = 100, SQLITE_DONE = 101, SQLITE_OPEN_READWRITE = 2, SQLITE_OPEN_CREATE = 4 };
enum { SQLITE_OPEN_NOMUTEX = 0x8000 };

static struct {
  int (*open_v2)(const char *, sqlite3 **, int, const char *);
  int (*close)(sqlite3 *);
  int (*exec)(sqlite3 *, const char *, int (*)(void *, int, char **, char **), void *, char **);
  const char *(*errmsg)(sqlite3 *);
  int (*busy_timeout)(sqlite3 *, int);
  int (*prepare_v2)(sqlite3 *, const char *, int, sqlite3_stmt **, const char **);
  int (*step)(sqlite3_stmt *);
  int (*reset)(sqlite3_stmt *);
  int (*finalize)(sqlite3_stmt *);
  int (*bind_blob)(sqlite3_stmt *, int, const void *, int, void (*)(void *));
  int (*bind_int64)(sqlite3_stmt *, int, int64_t);
  const void *(*column_blob)(sqlite3_stmt *, int);
  int (*column_bytes)(sqlite3_stmt *, int);
  int64_t (*column_int64)(sqlite3_stmt *, int);
} sq;

typedef struct {
  sqlite3 *connection;
  sqlite3_stmt *insert, *begin, *commit, *title, *note, *newest, *scan;
} connection;

typedef struct {
  char path[1024];
  peerOptions options;
  // Writers of one process share a connection and take turns: cheaper than one waiting for the other's file lock.
  connection writer;
  pthread_mutex_t turn;
} sqliteStore;

typedef struct {
  sqliteStore *store;
  connection reader;
  const char *error;
} sqliteSession;

static bool load(char *error) {
  static void *library;
  if (library) return true;
  library = libraryOpen((const char *const[]){"libsqlite3.so.0", "libsqlite3.so", "libsqlite3.dylib", NULL}, error);
  if (!library) return false;
  bool isComplete = true;
#define FIND(name) libraryFind(library, "sqlite3_", #name, &sq.name, &isComplete)
  FIND(open_v2), FIND(close), FIND(exec), FIND(errmsg), FIND(busy_timeout), FIND(prepare_v2), FIND(step);
  FIND(reset), FIND(finalize), FIND(bind_blob), FIND(bind_int64), FIND(column_blob), FIND(column_bytes);
  FIND(column_int64);
#undef FIND
  if (!isComplete) snprintf(error, errorByteCountMax, "libsqlite3 lacks a function");
  return isComplete;
}

static bool prepare(connection *to, const char *sql, sqlite3_stmt **statement) {
  return sq.prepare_v2(to->connection, sql, -1, statement, NULL) == SQLITE_OK;
}

static bool openConnection(connection *to, const sqliteStore *store, bool isWriter) {
  int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  if (sq.open_v2(store->path, &to->connection, flags, NULL) != SQLITE_OK) return false;
  sq.busy_timeout(to->connection, 60000);
  const char *settings =
    "PRAGMA journal_mode = WAL; PRAGMA cache_size = -262144; PRAGMA mmap_size = 17179869184;"
    "PRAGMA wal_autocheckpoint = 4000;";
  const char *tables =
    "CREATE TABLE IF NOT EXISTS notes (id BLOB PRIMARY KEY, time INTEGER, title BLOB, body BLOB) WITHOUT ROWID;";
  const char *index = "CREATE INDEX IF NOT EXISTS times ON notes (time);";
  // Without syncs, as the other engines are asked to do it; or with one a commit.
  const char *level = store->options.isDurable ? "PRAGMA synchronous = FULL;" : "PRAGMA synchronous = OFF;";
  if (sq.exec(to->connection, settings, NULL, NULL, NULL) != SQLITE_OK) return false;
  if (sq.exec(to->connection, level, NULL, NULL, NULL) != SQLITE_OK) return false;
  if (isWriter) {
    if (sq.exec(to->connection, tables, NULL, NULL, NULL) != SQLITE_OK) return false;
    if (store->options.hasTimeIndex && sq.exec(to->connection, index, NULL, NULL, NULL) != SQLITE_OK) return false;
    return prepare(to, "INSERT OR REPLACE INTO notes VALUES (?, ?, ?, ?)", &to->insert)
      && prepare(to, "BEGIN IMMEDIATE", &to->begin) && prepare(to, "COMMIT", &to->commit);
  }
  return prepare(to, "SELECT id, time, title FROM notes WHERE id = ?", &to->title)
    && prepare(to, "SELECT id, time, title, body FROM notes WHERE id = ?", &to->note)
    && prepare(to, "SELECT id, time, title FROM notes ORDER BY time DESC LIMIT ?", &to->newest)
    && prepare(to, "SELECT id, time, title, body FROM notes WHERE id >= ?", &to->scan)
    && prepare(to, "BEGIN", &to->begin) && prepare(to, "COMMIT", &to->commit);
}

static void closeConnection(connection *from) {
  sqlite3_stmt *statements[] = {
    from->insert, from->begin, from->commit, from->title, from->note, from->newest, from->scan};
  for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) sq.finalize(statements[i]);
  sq.close(from->connection);
}

static void *sqliteOpen(const char *path, peerOptions options, char *error) {
  if (!load(error)) return NULL;
  sqliteStore *store = calloc(1, sizeof *store);
  store->options = options;
  snprintf(store->path, sizeof store->path, "%s/notes.sqlite", path);
  pthread_mutex_init(&store->turn, NULL);
  if (openConnection(&store->writer, store, true)) return store;
  snprintf(error, errorByteCountMax, "%s", sq.errmsg(store->writer.connection));
  closeConnection(&store->writer);
  free(store);
  return NULL;
}

static void sqliteClose(void *opaque) {
  sqliteStore *store = opaque;
  closeConnection(&store->writer);
  pthread_mutex_destroy(&store->turn);
  free(store);
}

static bool sqliteCompact(void *opaque) {
  sqliteStore *store = opaque;
  return sq.exec(store->writer.connection, "VACUUM; PRAGMA wal_checkpoint(TRUNCATE);", NULL, NULL, NULL) == SQLITE_OK;
}

static void *sqliteBegin(void *store) {
  sqliteSession *session = calloc(1, sizeof *session);
  session->store = store;
  session->error = "";
  if (!openConnection(&session->reader, session->store, false)) session->error = "no connection for reading";
  return session;
}

static void sqliteEnd(void *opaque) {
  sqliteSession *session = opaque;
  closeConnection(&session->reader);
  free(session);
}

static const char *sqliteError(void *session) { return ((sqliteSession *)session)->error; }

static bool run(sqlite3_stmt *statement) {
  int result = sq.step(statement);
  sq.reset(statement);
  return result == SQLITE_DONE;
}

static bool sqliteWrite(void *opaque, const sealedNote *notes, size_t count) {
  sqliteSession *session = opaque;
  connection *writer = &session->store->writer;
  pthread_mutex_lock(&session->store->turn);
  bool isDone = count == 1 || run(writer->begin);
  for (size_t i = 0; i < count && isDone; i++) {
    sq.bind_blob(writer->insert, 1, notes[i].id, idByteCount, NULL);
    sq.bind_int64(writer->insert, 2, notes[i].time);
    sq.bind_blob(writer->insert, 3, notes[i].title, (int)notes[i].titleByteCount, NULL);
    sq.bind_blob(writer->insert, 4, notes[i].body, (int)notes[i].bodyByteCount, NULL);
    isDone = run(writer->insert);
  }
  if (count > 1) isDone = run(writer->commit) && isDone;
  if (!isDone) session->error = sq.errmsg(writer->connection);
  pthread_mutex_unlock(&session->store->turn);
  return isDone;
}

static bool sqliteBeginReads(void *opaque) {
  sqliteSession *session = opaque;
  return run(session->reader.begin);
}

static void sqliteEndReads(void *opaque) { run(((sqliteSession *)opaque)->reader.commit); }

/// Visits the rows of a statement, whose fourth column, where `hasBody`, is the body.
static bool visit(
  sqliteSession *session, sqlite3_stmt *statement, bool hasBody, unsigned upper, noteVisitor visitor, void *context
) {
  int result;
  bool goesOn = true;
  while (goesOn && (result = sq.step(statement)) == SQLITE_ROW) {
    sealedNote note = {
      .id = sq.column_blob(statement, 0), .time = sq.column_int64(statement, 1),
      .title = sq.column_blob(statement, 2), .titleByteCount = (size_t)sq.column_bytes(statement, 2),
    };
    if (hasBody) {
      note.body = sq.column_blob(statement, 3);
      note.bodyByteCount = (size_t)sq.column_bytes(statement, 3);
    }
    if (*note.id >= upper) break;
    goesOn = visitor(context, &note);
  }
  if (goesOn && result != SQLITE_DONE && result != SQLITE_ROW) session->error = sq.errmsg(session->reader.connection);
  sq.reset(statement);
  return goesOn && (result == SQLITE_DONE || result == SQLITE_ROW);
}

static bool sqliteGet(void *opaque, const uint8_t *id, readKind kind, noteVisitor visitor, void *context) {
  sqliteSession *session = opaque;
  sqlite3_stmt *statement = kind == readTitle ? session->reader.title : session->reader.note;
  sq.bind_blob(statement, 1, id, idByteCount, NULL);
  return visit(session, statement, kind == readNote, 256, visitor, context);
}

static bool sqliteScan(
  void *opaque, unsigned lower, unsigned upper, bool checking, noteVisitor visitor, void *context
) {
  sqliteSession *session = opaque;
  (void)checking;
  uint8_t start = (uint8_t)lower;
  sq.bind_blob(session->reader.scan, 1, &start, 1, NULL);
  return visit(session, session->reader.scan, true, upper, visitor, context);
}

static bool sqliteNewest(void *opaque, size_t limit, noteVisitor visitor, void *context) {
  sqliteSession *session = opaque;
  sq.bind_int64(session->reader.newest, 1, (int64_t)limit);
  return visit(session, session->reader.newest, false, 256, visitor, context);
}

static int isOkay(void *context, int count, char **values, char **names) {
  (void)names;
  *(bool *)context = count == 1 && strcmp(values[0], "ok") == 0;
  return 0;
}

static bool sqliteVerify(void *opaque) {
  sqliteSession *session = opaque;
  bool okay = false;
  sq.exec(session->reader.connection, "PRAGMA integrity_check", isOkay, &okay, NULL);
  return okay;
}

const engine sqliteEngine = {
  "sqlite", sqliteOpen, sqliteClose, sqliteCompact, sqliteBegin, sqliteEnd, sqliteError, sqliteWrite,
  sqliteBeginReads, sqliteEndReads, sqliteGet, sqliteScan, sqliteNewest, sqliteVerify,
};
