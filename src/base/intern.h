/* Texts that live as long as the process: the trace's records point to them, and its writer reads them later.
 */
#ifndef SLUICE_INTERN_H
#define SLUICE_INTERN_H

#include "base/types.h"

#define SL_INTERN_LONGEST 1023u      /* longer texts are cut */
#define SL_INTERN_BYTES (4 * SL_MIB) /* of all texts together, each with its end */
#define SL_INTERN_LOST "(too many texts)"

/* The kept copy of `text`: equal texts have one, at one address. Any thread, also in a signal handler or a
 * child after fork; takes no lock and allocates nothing; about 50 ns for a short text. When no more are kept,
 * every new text is SL_INTERN_LOST. NULL for NULL. */
const char *sl_intern(const char *text);

/* The same for texts of which a program may make any number: they take half of the room and leave the rest to
 * the others. */
const char *sl_intern_some(const char *text);

/* Whether `text` may be what one of these returned: its bytes up to the end are there to be read. */
bool sl_is_interned(const void *text);

#endif
