/* Small helpers for text. They allocate nothing and depend on no locale. */
#ifndef SLUICE_TEXT_H
#define SLUICE_TEXT_H

#include "base/types.h"

/* Edits (insert, delete, replace, swap of neighbours; case does not count) that turn one word into the other:
 * the restricted Damerau-Levenshtein distance. Words longer than 63 characters compare as far apart. */
unsigned sl_edit_distance(const char *one, const char *other);

/* True when `distance` is small enough that a person meant `word`. */
bool sl_is_near(const char *word, unsigned distance);

/* `bytes` for people: "512 B", "2 MiB", "1.5 GiB". Returns `out`. */
#define SL_BYTES_TEXT 24
const char *sl_bytes_text(uint64_t bytes, char out[SL_BYTES_TEXT]);

#endif
