// A vault of passwords over SQLite: accounts in folders, each with a row that says whether a server knows it.
//
// Each text is sealed by itself, as the notes are. Accounts are found by an HMAC of their domain in lower case. The
// accounts follow from their numbers: whoever compares makes the same.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct vault vault;

/// Opens a vault in a folder that exists; NULL with a message of at most 256 bytes where that can't be.
vault *vaultOpen(const char *path, char *error);
void vaultClose(vault *vault);
/// Puts a folder and some accounts in it, each with its row of metadata, in one durable transaction.
bool vaultFill(vault *vault, size_t folder, size_t first, size_t count);
/// Puts one account into a folder, in the place of what has its number, with its metadata: durably.
bool vaultPut(vault *vault, size_t folder, size_t number);
/// Finds a domain's accounts. Returns the bytes of their titles, user names and passwords; -1 on failure.
long vaultFind(vault *vault, const char *domain);
/// Opens all titles. Returns their bytes; -1 on failure.
long vaultTitles(vault *vault);
/// Deletes a folder with its accounts and their metadata, durably.
bool vaultDeleteFolder(vault *vault, size_t folder);
