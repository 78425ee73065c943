#include <dlfcn.h>
#include <stdio.h>

#include "engine.h"

void *libraryOpen(const char *const *names, char *error) {
  for (const char *const *name = names; *name; name++) {
    void *library = dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    if (library) return library;
  }
  snprintf(error, errorByteCountMax, "%s is not installed", names[0]);
  return NULL;
}

void libraryFind(void *library, const char *prefix, const char *name, void *target, bool *isComplete) {
  char symbol[128];
  snprintf(symbol, sizeof symbol, "%s%s", prefix, name);
  void *found = dlsym(library, symbol);
  if (!found) *isComplete = false;
  memcpy(target, &found, sizeof found);
}
