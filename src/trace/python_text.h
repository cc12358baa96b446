/* Strings and line tables of CPython, from their bytes in memory. They allocate nothing. */
#ifndef SLUICE_PYTHON_TEXT_H
#define SLUICE_PYTHON_TEXT_H

#include "base/types.h"

/* Appends a str object of CPython 3.`minor` as UTF-8 to `out`, which holds a string in `room` bytes; cuts it
 * at a whole character. Control characters become ?. */
void sl_python_text(const char *object, unsigned minor, char *out, size_t room);

/* The format is that of CPython's Objects/locations.md.
 * The line of the instruction at `offset` code units of a function that begins at `first_line`; 0: none, or the
 * table ends before it. `table`: `bytes` bytes of a location table. */
uint32_t sl_python_line(const uint8_t *table, size_t bytes, uint32_t first_line, uint64_t offset);

#endif
