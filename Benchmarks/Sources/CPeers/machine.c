#define _GNU_SOURCE
#include <dirent.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "peers.h"

uint64_t nowNanoseconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

void stayOnProcessor(size_t index) {
#ifdef __linux__
  cpu_set_t allowed, one;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
  size_t count = (size_t)CPU_COUNT(&allowed);
  if (count == 0) return;
  size_t left = index % count;
  for (int processor = 0; processor < CPU_SETSIZE; processor++) {
    if (!CPU_ISSET(processor, &allowed) || left-- > 0) continue;
    CPU_ZERO(&one);
    CPU_SET(processor, &one);
    sched_setaffinity(0, sizeof one, &one);
    return;
  }
#else
  (void)index;
#endif
}

size_t folderByteCount(const char *path) {
  DIR *folder = opendir(path);
  if (!folder) return 0;
  size_t total = 0;
  for (struct dirent *entry; (entry = readdir(folder));) {
    struct stat status;
    if (fstatat(dirfd(folder), entry->d_name, &status, 0) == 0 && S_ISREG(status.st_mode))
      total += (size_t)status.st_blocks * 512;
  }
  closedir(folder);
  return total;
}

long bareAppendAndSync(const char *path, size_t byteCount, size_t count, uint64_t *latencies) {
  int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (file < 0) return -1;
  char *bytes = malloc(byteCount);
  memset(bytes, 'x', byteCount);
  long done = posix_fallocate(file, 0, (off_t)(byteCount * count)) == 0 && fsync(file) == 0 ? 0 : -1;
  for (size_t i = 0; done >= 0 && i < count; i++) {
    uint64_t start = latencies ? nowNanoseconds() : 0;
    if (pwrite(file, bytes, byteCount, (off_t)(i * byteCount)) != (ssize_t)byteCount || fdatasync(file) != 0)
      done = -1;
    else
      done++;
    if (latencies) latencies[i] = nowNanoseconds() - start;
  }
  free(bytes);
  close(file);
  unlink(path);
  return done;
}
