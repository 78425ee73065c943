// The notes workload on the engines that people would otherwise use, through their C interfaces.
//
// Every peer stores a note as a careful C programmer would: title and body sealed field by field with AES-256-GCM under a
// random IV, with cached contexts and buffered random bytes. The libraries are loaded when a peer is asked for, so that
// the package builds, and runs for the others, where one is missing.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
  idByteCount = 16,
  titleByteCountMax = 64,
  bodyByteCountMax = 1024,
  errorByteCountMax = 256,
};

// MARK: The dataset

typedef struct {
  uint8_t id[idByteCount];
  int64_t time;
  /// Where its text starts in the dataset's text: the title, and the body behind it.
  size_t textStart;
  uint32_t titleByteCount;
  uint32_t bodyByteCount;
} note;

/// Notes, the same in every run; all engines store the same.
typedef struct {
  note *notes;
  size_t count;
  char *text;
  size_t textByteCount;
} dataset;

/// Makes `count` notes: letters without repetition, or pieces of `english` where that is given. It must outlive no call.
dataset *datasetCreate(size_t count, uint64_t seed, const char *english, size_t englishByteCount);
void datasetDestroy(dataset *notes);
/// The bytes of ids, times, titles and bodies.
size_t datasetLogicalByteCount(const dataset *notes);
/// Fills `picks` with numbers below `limit`, the same for the same seed.
void datasetPick(uint32_t *picks, size_t count, size_t limit, uint64_t seed);
/// A substring that one body in a few hundred holds.
const char *datasetNeedle(const dataset *notes, size_t *byteCount);

/// A note that is to be read: its id, and what tells whether a text is its. Made in the order of reading before the clock runs,
/// as looking notes up in the dataset, and comparing texts with it, takes processors longer than some engines take.
typedef struct {
  uint8_t id[idByteCount];
  uint32_t titleByteCount, bodyByteCount;
  uint64_t titleDigest, bodyDigest;
} wantedNote;

void datasetWant(const dataset *notes, const uint32_t *picks, size_t count, wantedNote *wanted);
bool isWantedTitle(const wantedNote *wanted, const void *text, size_t byteCount);
bool isWantedBody(const wantedNote *wanted, const void *text, size_t byteCount);

// MARK: Peers

typedef struct peer peer;
typedef struct peerSession peerSession;

/// How a peer's store is opened.
typedef struct {
  /// Whether every commit reaches the medium before it returns.
  bool isDurable;
  /// Whether the time is indexed.
  bool hasTimeIndex;
} peerOptions;

/// Opens a store in a folder that exists; NULL with a message where that can't be, a missing library among the reasons.
peer *peerOpen(const char *engine, const char *path, peerOptions options, char error[errorByteCountMax]);
/// Closes it in order. All sessions must have ended.
void peerClose(peer *peer);
/// Frees what dead versions hold, as far as the engine can.
bool peerCompact(peer *peer);

/// What one thread needs: contexts, buffers, and the engine's connection.
peerSession *peerSessionBegin(peer *peer);
void peerSessionEnd(peerSession *session);
/// What went wrong last.
const char *peerSessionError(const peerSession *session);

// MARK: Workloads. Each returns what it counted, or -1. `latencies`, where it is not NULL, takes nanoseconds an operation.

/// Inserts notes `first ..< first + count` in transactions of `batch`.
long peerInsert(
  peerSession *session, const dataset *notes, size_t first, size_t count, size_t batch, uint64_t *latencies);
/// Writes new versions of the notes picked in transactions of `batch`.
long peerUpdate(
  peerSession *session, const dataset *notes, const uint32_t *picks, size_t count, size_t batch, uint32_t version,
  uint64_t *latencies);
/// Opens titles, `group` of them under one view of the store, and checks that they are what was written.
long peerReadTitles(
  peerSession *session, const wantedNote *wanted, size_t count, size_t group, uint64_t *latencies);
/// Opens titles and bodies and checks them.
long peerReadNotes(peerSession *session, const wantedNote *wanted, size_t count, uint64_t *latencies);
/// Opens one note's title, whatever its version, and returns its length.
long peerFirstTitle(peerSession *session, const dataset *notes, size_t pick);
/// Opens the titles of the `limit` newest notes.
long peerReadNewest(peerSession *session, size_t limit);
/// Opens all titles whose ids are in one of `parts` equal parts.
long peerScanTitles(peerSession *session, unsigned part, unsigned parts);
/// Counts the bodies that hold `needle`.
long peerSearchBodies(
  peerSession *session, const char *needle, size_t needleByteCount, unsigned part, unsigned parts);
/// Checks everything the engine can check, and opens every field too where `withKey`. Returns bytes checked.
long peerVerify(peerSession *session, bool withKey);

// MARK: The machine

/// Nanoseconds of a clock that only goes forward.
uint64_t nowNanoseconds(void);
/// Keeps the calling thread on the `index`th processor it may use: the system may take longer to part two threads
/// that woke on one processor than a round lasts.
void stayOnProcessor(size_t index);
/// The bytes that a folder's files take on the medium.
size_t folderByteCount(const char *path);
/// Appends `count` records of `byteCount` bytes to a preallocated file, each followed by fdatasync: what the device can do.
long bareAppendAndSync(const char *path, size_t byteCount, size_t count, uint64_t *latencies);
