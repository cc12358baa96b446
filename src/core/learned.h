/* The profile (SLUICE_PROFILE): what the previous run learned about the program, and what this run learns for
 * the next. Each core has its own part of it; all parts are in one file. Caller holds the order lock of the
 * core, or no other thread uses the core yet. */
#ifndef SLUICE_LEARNED_H
#define SLUICE_LEARNED_H

#include "launch/symbols.h"
#include "profile/profile.h"

struct sl_core;

struct sl_learned;

/* Reads the profile at `path`, an option's text. A damaged profile, or one of another program or version, is
 * ignored with one warning. Call it before sizes are decided, because sl_learned_wanted may set some. The
 * parts of `core` need not be initialised yet. NULL: no path, or no memory. */
struct sl_learned *sl_learned_read(const char *path, struct sl_core *core);
/* The part of a further device of the process, numbered from 1 in the order of their first use. `first` is
 * what sl_learned_read returned. NULL: there is no profile, or no memory. */
struct sl_learned *sl_learned_join(struct sl_learned *first, uint32_t device, struct sl_core *core);
void sl_learned_close(struct sl_learned *learned); /* accepts NULL */

/* The profile's settings; zeros for those that it lacks, for a further device, or without a profile. Accepts
 * NULL. */
struct sl_profile_wanted sl_learned_wanted(const struct sl_learned *learned);

/* Primes placement, symbols and predictor from the profile. Precondition: the parts are initialised, and
 * nothing was fed or placed yet. */
void sl_learned_use(struct sl_learned *learned);

/* Allocations of this site must be device memory: recorded for the next run. The profile is then written at
 * the end even if no iteration repeated. Accepts NULL. */
void sl_learned_exported(struct sl_learned *learned, uint64_t site);

/* An iteration has ended. */
void sl_learned_iteration(struct sl_learned *learned);

/* What was learned is about to be forgotten: writes the profile first. */
void sl_learned_forget(struct sl_learned *learned);

/* Whether there is something to write that is not in the profile that was read. Accepts NULL. */
bool sl_learned_something(const struct sl_learned *learned);

/* Writes the profile, with the other devices' parts as they are in the file; logs an error once.
 * SL_ERR_UNSUPPORTED: there is nothing to write, or another program's profile is at the path. Accepts NULL.
 */
enum sl_status sl_learned_write(struct sl_learned *learned);

/* --- learned_parts.c: what a run learned is collected from the core's parts, and the next run's are primed
 * from it */

/* Returns the number of symbols that the predictor got as its past; 0: not enough memory. Precondition: as
 * sl_learned_use. */
size_t sl_learned_prime(struct sl_core *core, const struct sl_profile *profile);

/* Fills in everything except the profile's settings. `head`: the program's first symbols, `steady` of which
 * were fed before the last iteration ended. SL_ERR_NO_MEMORY. */
enum sl_status sl_learned_collect(struct sl_core *core, const sl_symbol *head, size_t count, size_t steady,
                                  struct sl_profile *out);

#endif
