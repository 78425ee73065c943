// Going through a file of sealed notes with nothing around it: the floor of a scan.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// The journal's own checksum and search, so that both pay the same for them.
#include "../../../Sources/CSystem/checksum.h"
#include "../../../Sources/CSystem/substring.h"
#include "floor.h"

enum { window_size = 1 << 20, seal_size = 40, aad_size = 64, id_size = 16, text_max = 4096 };

/// What stands before a note's two sealed values.
typedef struct {
  uint32_t title_size, body_size, checksum, reserved;
  uint8_t id[id_size];
} note_header;

struct floor_log {
  floor_context *context;
  int descriptor;
  off_t end;
  size_t held;
  uint8_t aad[aad_size], text[text_max], window[window_size];
};

/// The checksum of a note's values. Where the processor can't fold, bit by bit: there is no floor to compare with then.
static uint32_t checksum(const uint8_t *bytes, size_t size) {
  if (size >= 16 && checksum_can_fold()) return ~checksum_fold(~0u, bytes, size);
  uint32_t state = ~0u;
  for (size_t i = 0; i < size; i++) {
    state ^= bytes[i];
    for (int bit = 0; bit < 8; bit++) state = state & 1 ? 0xEDB88320 ^ state >> 1 : state >> 1;
  }
  return ~state;
}

// MARK: the file

floor_log *floor_log_open(const char *path, const uint8_t *key) {
  floor_log *log = calloc(1, sizeof *log);
  if (!log) abort();
  log->descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  log->context = floor_new(key);
  return log;
}

void floor_log_close(floor_log *log) {
  if (log->descriptor >= 0) close(log->descriptor);
  floor_free(log->context);
  free(log);
}

int floor_log_flush(floor_log *log) {
  for (size_t done = 0; done < log->held;) {
    ssize_t count = pwrite(log->descriptor, log->window + done, log->held - done, log->end);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return 1;
    done += (size_t)count;
    log->end += count;
  }
  log->held = 0;
  return 0;
}

/// What a value is bound to: as many bytes as ours, the note's id and the field's number among them.
static void bind_to(floor_log *log, const uint8_t *id, uint8_t field) {
  memcpy(log->aad + 32, id, id_size);
  log->aad[48] = field;
}

int floor_log_append(floor_log *log, const uint8_t *id, const void *title, size_t title_size, const void *body,
                     size_t body_size) {
  size_t size = sizeof(note_header) + title_size + body_size + 2 * seal_size;
  if (title_size > text_max || body_size > text_max) return 1;
  if (log->held + size > window_size && floor_log_flush(log)) return 1;
  uint8_t *start = log->window + log->held, *values = start + sizeof(note_header);
  bind_to(log, id, 0);
  if (floor_seal_in_run(log->context, title, title_size, log->aad, aad_size, values)) return 1;
  bind_to(log, id, 1);
  if (floor_seal_in_run(log->context, body, body_size, log->aad, aad_size, values + title_size + seal_size)) return 1;
  note_header header = {(uint32_t)(title_size + seal_size), (uint32_t)(body_size + seal_size)};
  header.checksum = checksum(values, size - sizeof header);
  memcpy(header.id, id, id_size);
  memcpy(start, &header, sizeof header);
  log->held += size;
  return 0;
}

/// Checks a note and opens one of its values. Returns whether it counts, or -1 where it is not what was written.
static int visit(floor_log *log, const note_header *header, const uint8_t *values, int field, const void *needle,
                 size_t needle_size) {
  size_t total = (size_t)header->title_size + header->body_size;
  if (checksum(values, total) != header->checksum) return -1;
  const uint8_t *sealed = field == 0 ? values : values + header->title_size;
  size_t size = (field == 0 ? header->title_size : header->body_size) - seal_size;
  if (size > text_max) return -1;
  bind_to(log, header->id, (uint8_t)field);
  if (floor_open_in_run(log->context, sealed, size, log->aad, aad_size, log->text)) return -1;
  return !needle || bytes_contain(log->text, size, needle, needle_size);
}

long floor_log_scan(floor_log *log, int field, const void *needle, size_t needle_size) {
  long found = 0;
  size_t held = 0;
  for (off_t place = 0; place < log->end;) {
    ssize_t count = pread(log->descriptor, log->window + held, window_size - held, place);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return -1;
    place += count;
    held += (size_t)count;
    size_t at = 0;
    note_header header;
    while (held - at >= sizeof header) {
      memcpy(&header, log->window + at, sizeof header);
      size_t size = sizeof header + header.title_size + header.body_size;
      if (size > held - at) break;
      int outcome = visit(log, &header, log->window + at + sizeof header, field, needle, needle_size);
      if (outcome < 0) return -1;
      found += outcome;
      at += size;
    }
    memmove(log->window, log->window + at, held - at);
    held -= at;
  }
  return held == 0 ? found : -1;
}
