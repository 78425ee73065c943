#include <stdlib.h>
#include <string.h>

#include "peers.h"

/// SplitMix64: small, and the same everywhere.
static uint64_t next(uint64_t *state) {
  uint64_t value = *state += 0x9E3779B97F4A7C15;
  value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
  value = (value ^ (value >> 27)) * 0x94D049BB133111EB;
  return value ^ (value >> 31);
}

static uint64_t below(uint64_t *state, uint64_t limit) {
  return (uint64_t)(((unsigned __int128)next(state) * limit) >> 64);
}

dataset *datasetCreate(size_t count, uint64_t seed, const char *english, size_t englishByteCount) {
  uint64_t state = seed;
  dataset *new = calloc(1, sizeof *new);
  new->count = count;
  new->notes = calloc(count, sizeof *new->notes);
  new->text = malloc(count * (size_t)(48 + 700));
  int64_t time = 1700000000000;
  for (size_t i = 0; i < count; i++) {
    note *note = &new->notes[i];
    uint64_t halves[2] = {next(&state), next(&state)};
    memcpy(note->id, halves, sizeof halves);
    // Not in order of time: what is written now may be dated earlier.
    note->time = (time += 1000) - (int64_t)below(&state, 60000);
    note->titleByteCount = 16 + (uint32_t)below(&state, 33);
    note->bodyByteCount = 100 + (uint32_t)below(&state, 601);
    note->textStart = new->textByteCount;
    size_t byteCount = note->titleByteCount + note->bodyByteCount;
    char *text = new->text + new->textByteCount;
    if (english && englishByteCount > 2 * byteCount) {
      memcpy(text, english + below(&state, englishByteCount - byteCount), byteCount);
    } else {
      for (size_t j = 0; j < byteCount; j++) text[j] = (char)('a' + below(&state, 26));
    }
    new->textByteCount += byteCount;
  }
  return new;
}

void datasetDestroy(dataset *notes) {
  free(notes->notes);
  free(notes->text);
  free(notes);
}

size_t datasetLogicalByteCount(const dataset *notes) {
  return notes->count * (idByteCount + sizeof(int64_t)) + notes->textByteCount;
}

void datasetPick(uint32_t *picks, size_t count, size_t limit, uint64_t seed) {
  uint64_t state = seed;
  for (size_t i = 0; i < count; i++) picks[i] = (uint32_t)below(&state, limit);
}

const char *datasetNeedle(const dataset *notes, size_t *byteCount) {
  // Two letters are in most bodies, three in one of fifty, six in hardly any: four make the search work and count.
  *byteCount = 4;
  const note *last = &notes->notes[notes->count - 1];
  return notes->text + last->textStart + last->titleByteCount + 20;
}
