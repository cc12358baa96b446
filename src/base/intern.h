/* Texts that are never freed: the trace's records point to them, and its writer reads them later. */
#ifndef SLUICE_INTERN_H
#define SLUICE_INTERN_H

#include "base/types.h"

#define SL_INTERN_LONGEST 1023u      /* longer texts are truncated */
#define SL_INTERN_BYTES (4 * SL_MIB) /* of all texts together, with terminators */
#define SL_INTERN_LOST "(too many texts)"

/* The interned copy of `text`: equal texts share one address. Any thread, also in a signal handler or a child
 * after fork; lock-free, allocates nothing; about 50 ns for a short text. When the space is full, every new
 * text becomes SL_INTERN_LOST. NULL for NULL. */
const char *sl_intern(const char *text);

/* The same for texts of which a program may make any number: limited to half of the space, so that room is
 * left for the others. */
const char *sl_intern_some(const char *text);

/* Whether `text` may be a result of these functions: its bytes up to the terminator are readable. */
bool sl_is_interned(const void *text);

#endif
