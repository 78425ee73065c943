#include <string.h>

#include "peers.h"

static uint64_t mix(uint64_t sum, uint64_t word) {
  sum = (sum ^ word) * 0x9E3779B97F4A7C15;
  return sum ^ (sum >> 29);
}

/// Four sums side by side, so that no multiplication waits for the one before.
static uint64_t digest(const char *text, size_t byteCount) {
  uint64_t sums[4] = {byteCount, 1, 2, 3}, words[4];
  for (; byteCount >= sizeof words; text += sizeof words, byteCount -= sizeof words) {
    memcpy(words, text, sizeof words);
    for (int i = 0; i < 4; i++) sums[i] = mix(sums[i], words[i]);
  }
  memset(words, 0, sizeof words);
  memcpy(words, text, byteCount);
  for (int i = 0; i < 4; i++) sums[i] = mix(sums[i], words[i]);
  return mix(mix(mix(sums[0], sums[1]), sums[2]), sums[3]);
}

void datasetWant(const dataset *notes, const uint32_t *picks, size_t count, wantedNote *wanted) {
  for (size_t i = 0; i < count; i++) {
    const note *note = &notes->notes[picks[i]];
    const char *title = notes->text + note->textStart;
    wanted[i] = (wantedNote){
      .titleByteCount = note->titleByteCount,
      .bodyByteCount = note->bodyByteCount,
      .titleDigest = digest(title, note->titleByteCount),
      .bodyDigest = digest(title + note->titleByteCount, note->bodyByteCount),
    };
    memcpy(wanted[i].id, note->id, idByteCount);
  }
}

bool isWantedTitle(const wantedNote *wanted, const void *text, size_t byteCount) {
  return byteCount == wanted->titleByteCount && digest(text, byteCount) == wanted->titleDigest;
}

bool isWantedBody(const wantedNote *wanted, const void *text, size_t byteCount) {
  return byteCount == wanted->bodyByteCount && digest(text, byteCount) == wanted->bodyDigest;
}
