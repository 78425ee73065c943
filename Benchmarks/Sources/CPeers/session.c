// The workloads, the same for every peer.

#define _GNU_SOURCE
#include <stdio.h>

// What the journal searches with, so that all pay the same for it.
#include "../../../Sources/CSystem/substring.h"
#include "engine.h"
#include "sealing.h"

enum { fieldTitle = 1, fieldBody = 2 };

struct peer {
  const engine *engine;
  void *store;
};

struct peerSession {
  peer *peer;
  void *session;
  sealer *sealer;
  // A transaction's notes, sealed before the engine's lock is taken.
  sealedNote *sealed;
  size_t sealedCapacity;
  uint8_t *arena;
  char text[titleByteCountMax + bodyByteCountMax + 2 * 32];
  const char *error;
};

// MARK: Stores and sessions

peer *peerOpen(const char *name, const char *path, peerOptions options, char error[errorByteCountMax]) {
  static const engine *const engines[] = {&sqliteEngine, &lmdbEngine, &levelEngine, &rocksEngine};
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
    if (strcmp(engines[i]->name, name) != 0) continue;
    void *store = engines[i]->open(path, options, error);
    if (!store) return NULL;
    peer *new = calloc(1, sizeof *new);
    *new = (peer){engines[i], store};
    return new;
  }
  snprintf(error, errorByteCountMax, "there is no engine '%s'", name);
  return NULL;
}

void peerClose(peer *peer) {
  peer->engine->close(peer->store);
  free(peer);
}

bool peerCompact(peer *peer) { return peer->engine->compact(peer->store); }

peerSession *peerSessionBegin(peer *peer) {
  peerSession *session = calloc(1, sizeof *session);
  session->peer = peer;
  session->session = peer->engine->begin(peer->store);
  session->sealer = sealerCreate();
  session->error = "";
  return session;
}

void peerSessionEnd(peerSession *session) {
  session->peer->engine->end(session->session);
  sealerDestroy(session->sealer);
  free(session->sealed);
  free(session->arena);
  free(session);
}

const char *peerSessionError(const peerSession *session) {
  return *session->error ? session->error : session->peer->engine->error(session->session);
}

// MARK: Values

bool sealedNoteDivide(sealedNote *note, const uint8_t *id, const void *value, size_t byteCount) {
  if (byteCount < valuePrefixByteCount) return false;
  const uint8_t *bytes = value;
  uint16_t titleByteCount;
  memcpy(&note->time, bytes, sizeof note->time);
  memcpy(&titleByteCount, bytes + 8, sizeof titleByteCount);
  if (byteCount - valuePrefixByteCount < titleByteCount) return false;
  note->id = id;
  note->title = bytes + valuePrefixByteCount;
  note->titleByteCount = titleByteCount;
  note->body = note->title + titleByteCount;
  note->bodyByteCount = byteCount - valuePrefixByteCount - titleByteCount;
  return true;
}

void timeKey(uint8_t key[timeKeyByteCount], int64_t time, const uint8_t *id) {
  memset(key, 0xFF, 8);
  for (int i = 0; i < 8; i++) key[8 + i] = (uint8_t)((uint64_t)time >> (56 - 8 * i));
  memcpy(key + 16, id, idByteCount);
}

// MARK: Writing

enum { sealedByteCountMax = valuePrefixByteCount + titleByteCountMax + bodyByteCountMax + 2 * sealByteCount };

static void reserve(peerSession *session, size_t count) {
  if (count <= session->sealedCapacity) return;
  free(session->sealed);
  free(session->arena);
  session->sealed = calloc(count, sizeof *session->sealed);
  session->arena = malloc(count * sealedByteCountMax);
  session->sealedCapacity = count;
}

/// Seals a note with the text of another: a later version has another note's text.
static bool seal(
  peerSession *session, const dataset *notes, const note *target, const note *source, uint8_t *value,
  sealedNote *sealed
) {
  const char *title = notes->text + source->textStart;
  uint8_t *start = value + valuePrefixByteCount;
  size_t titleCount =
    sealField(session->sealer, target->id, fieldTitle, title, source->titleByteCount, start);
  size_t bodyCount = sealField(
    session->sealer, target->id, fieldBody, title + source->titleByteCount, source->bodyByteCount, start + titleCount);
  if (titleCount == 0 || bodyCount == 0) return false;
  uint16_t titleByteCount = (uint16_t)titleCount;
  memcpy(value, &target->time, sizeof target->time);
  memcpy(value + 8, &titleByteCount, sizeof titleByteCount);
  *sealed = (sealedNote){
    .id = target->id, .time = target->time, .title = start, .body = start + titleCount, .value = value,
    .titleByteCount = titleCount, .bodyByteCount = bodyCount,
    .valueByteCount = valuePrefixByteCount + titleCount + bodyCount,
  };
  return true;
}

static long writeNotes(
  peerSession *session, const dataset *notes, size_t first, const uint32_t *picks, size_t count, size_t batch,
  uint32_t version, uint64_t *latencies
) {
  reserve(session, batch);
  size_t operation = 0;
  for (size_t done = 0; done < count;) {
    uint64_t start = latencies ? nowNanoseconds() : 0;
    size_t taken = count - done < batch ? count - done : batch;
    uint8_t *value = session->arena;
    for (size_t i = 0; i < taken; i++) {
      size_t target = picks ? picks[done + i] : first + done + i;
      size_t source = (target + version) % notes->count;
      if (!seal(session, notes, &notes->notes[target], &notes->notes[source], value, &session->sealed[i])) {
        session->error = "sealing failed";
        return -1;
      }
      value += session->sealed[i].valueByteCount;
    }
    if (!session->peer->engine->write(session->session, session->sealed, taken)) return -1;
    if (latencies) latencies[operation++] = nowNanoseconds() - start;
    done += taken;
  }
  return (long)count;
}

long peerInsert(
  peerSession *session, const dataset *notes, size_t first, size_t count, size_t batch, uint64_t *latencies
) {
  return writeNotes(session, notes, first, NULL, count, batch, 0, latencies);
}

long peerUpdate(
  peerSession *session, const dataset *notes, const uint32_t *picks, size_t count, size_t batch, uint32_t version,
  uint64_t *latencies
) {
  return writeNotes(session, notes, 0, picks, count, batch, version, latencies);
}

// MARK: Reading

/// What a visitor opens, and what it has to be, or what is looked for in it.
typedef struct {
  peerSession *session;
  const wantedNote *wanted;
  bool opensTitle, opensBody;
  const char *needle;
  size_t needleByteCount;
  long count, byteCount;
} opening;

static bool openFields(void *context, const sealedNote *note) {
  opening *opening = context;
  peerSession *session = opening->session;
  char *text = session->text;
  long titleCount = 0, bodyCount = 0;
  if (opening->opensTitle) {
    titleCount = openField(session->sealer, note->id, fieldTitle, note->title, note->titleByteCount, text);
    if (titleCount < 0) {
      session->error = "a title does not open";
      return false;
    }
  }
  if (opening->opensBody) {
    bodyCount = openField(session->sealer, note->id, fieldBody, note->body, note->bodyByteCount, text + titleCount);
    if (bodyCount < 0) {
      session->error = "a body does not open";
      return false;
    }
  }
  const wantedNote *wanted = opening->wanted;
  if (wanted
      && ((opening->opensTitle && !isWantedTitle(wanted, text, (size_t)titleCount))
          || (opening->opensBody && !isWantedBody(wanted, text + titleCount, (size_t)bodyCount)))) {
    session->error = "a note is not what was written";
    return false;
  }
  opening->byteCount += (long)(note->titleByteCount + note->bodyByteCount + idByteCount);
  opening->count += !opening->needle
    || bytes_contain(text + titleCount, (size_t)bodyCount, opening->needle, opening->needleByteCount);
  return true;
}

static long readNotes(
  peerSession *session, const wantedNote *wanted, size_t count, size_t group, readKind kind, uint64_t *latencies
) {
  const engine *engine = session->peer->engine;
  opening opening = {.session = session, .opensTitle = true, .opensBody = kind == readNote};
  size_t operation = 0;
  for (size_t done = 0; done < count;) {
    uint64_t start = latencies ? nowNanoseconds() : 0;
    size_t taken = count - done < group ? count - done : group;
    if (group > 1 && !engine->beginReads(session->session)) return -1;
    for (size_t i = 0; i < taken; i++) {
      opening.wanted = &wanted[done + i];
      if (!engine->get(session->session, opening.wanted->id, kind, openFields, &opening)) return -1;
    }
    if (group > 1) engine->endReads(session->session);
    if (latencies) latencies[operation++] = nowNanoseconds() - start;
    done += taken;
  }
  return opening.count;
}

long peerReadTitles(
  peerSession *session, const wantedNote *wanted, size_t count, size_t group, uint64_t *latencies
) {
  return readNotes(session, wanted, count, group, readTitle, latencies);
}

long peerReadNotes(peerSession *session, const wantedNote *wanted, size_t count, uint64_t *latencies) {
  return readNotes(session, wanted, count, 1, readNote, latencies);
}

long peerFirstTitle(peerSession *session, const dataset *notes, size_t pick) {
  opening opening = {.session = session, .opensTitle = true};
  const uint8_t *id = notes->notes[pick].id;
  bool isDone = session->peer->engine->get(session->session, id, readTitle, openFields, &opening);
  return isDone ? opening.byteCount : -1;
}

long peerReadNewest(peerSession *session, size_t limit) {
  opening opening = {.session = session, .opensTitle = true};
  bool isDone = session->peer->engine->newest(session->session, limit, openFields, &opening);
  return isDone ? opening.count : -1;
}

static bool scan(peerSession *session, unsigned part, unsigned parts, bool checking, opening *opening) {
  return session->peer->engine->scan(
    session->session, part * 256 / parts, (part + 1) * 256 / parts, checking, openFields, opening);
}

long peerScanTitles(peerSession *session, unsigned part, unsigned parts) {
  opening opening = {.session = session, .opensTitle = true};
  return scan(session, part, parts, false, &opening) ? opening.count : -1;
}

long peerSearchBodies(
  peerSession *session, const char *needle, size_t needleByteCount, unsigned part, unsigned parts
) {
  opening opening = {
    .session = session, .opensBody = true, .needle = needle, .needleByteCount = needleByteCount};
  return scan(session, part, parts, false, &opening) ? opening.count : -1;
}

long peerVerify(peerSession *session, bool withKey) {
  const engine *engine = session->peer->engine;
  if (engine->verify && !engine->verify(session->session)) return -1;
  opening opening = {.session = session, .opensTitle = withKey, .opensBody = withKey};
  if (engine->verify && !withKey) return 0;
  return scan(session, 0, 1, true, &opening) ? opening.byteCount : -1;
}
