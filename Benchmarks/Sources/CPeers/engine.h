// What an engine offers the workloads: each engine's file fills one of these in.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "peers.h"

/// A note as it is stored: id, time, and both fields sealed. `value` is time, title length, title and body in one run.
typedef struct {
  const uint8_t *id;
  int64_t time;
  const uint8_t *title, *body, *value;
  size_t titleByteCount, bodyByteCount, valueByteCount;
} sealedNote;

/// Takes a stored note, whose bytes live until it returns. Returns whether to go on.
typedef bool (*noteVisitor)(void *context, const sealedNote *note);

typedef enum { readTitle, readNote } readKind;

typedef struct {
  const char *name;
  void *(*open)(const char *path, peerOptions options, char *error);
  void (*close)(void *store);
  bool (*compact)(void *store);
  void *(*begin)(void *store);
  void (*end)(void *session);
  const char *(*error)(void *session);
  bool (*write)(void *session, const sealedNote *notes, size_t count);
  /// Several reads between these two see one state of the store.
  bool (*beginReads)(void *session);
  void (*endReads)(void *session);
  bool (*get)(void *session, const uint8_t *id, readKind kind, noteVisitor visitor, void *context);
  /// Visits all notes whose id's first byte is in the range.
  bool (*scan)(void *session, unsigned lower, unsigned upper, bool checking, noteVisitor visitor, void *context);
  bool (*newest)(void *session, size_t limit, noteVisitor visitor, void *context);
  /// Checks the structure; NULL where `scan` with `checking` is all there is.
  bool (*verify)(void *session);
} engine;

extern const engine sqliteEngine, lmdbEngine, levelEngine, rocksEngine;

/// Divides the value of a key-value engine. Returns whether it is one.
bool sealedNoteDivide(sealedNote *note, const uint8_t *id, const void *value, size_t byteCount);

enum { valuePrefixByteCount = 10, timeKeyByteCount = 32 };

/// The key of a note in a time index that shares its key space with the notes: behind all ids, in order of time.
void timeKey(uint8_t key[timeKeyByteCount], int64_t time, const uint8_t *id);

/// Loads a library under the first of several names. NULL with a message where it is missing.
void *libraryOpen(const char *const *names, char *error);
/// Finds a function and stores it at `target`; clears `*isComplete` where it is missing.
void libraryFind(void *library, const char *prefix, const char *name, void *target, bool *isComplete);
