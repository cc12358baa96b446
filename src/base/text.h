/* Small helpers for text. They allocate nothing and depend on no locale. */
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include "base/types.h"

/* The number of edits (insert, delete, replace, swap of neighbours; case is ignored) that turn one word into
 * the other: the restricted Damerau-Levenshtein distance. Words longer than 63 characters count as far
 * apart. */
unsigned sl_edit_distance(const char *one, const char *other);

/* Whether `distance` is small enough that a user meant `word`. */
bool sl_is_near(const char *word, unsigned distance);

/* A readable form of `bytes`: "512 B", "2 MiB", "1.5 GiB". Returns `out`. */
#define SL_BYTES_TEXT 24
const char *sl_bytes_text(uint64_t bytes, char out[SL_BYTES_TEXT]);

/* Makes text that others chose (names of kernels, programs and files, traces) safe to print: replaces invalid
 * UTF-8 and characters that control terminals or the direction of text by ?, in place. */
void sl_defuse(char *text);

/* --- mask.c: hides what looks like a secret in a command line: values of options and variables that are
 * named like keys, tokens and passwords, passwords in URLs, and words that begin like the tokens of
 * well-known services. */

#define SL_MASK "***" /* stands for each secret */

/* Writes `bytes` bytes of arguments, each ended by a zero byte, as one line of at most `room` - 1 bytes,
 * separated by spaces; *out is terminated. Without `mask` nothing is hidden. Precondition: room > 0. */
void sl_mask_command(const char *arguments, size_t bytes, bool mask, char *out, size_t room);

#endif
