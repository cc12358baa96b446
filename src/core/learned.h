/* What this run learns of its program, for the next one, and what the one before learned: SLUICE_PROFILE.
 * Caller holds the order lock, or is the only thread yet. */
#ifndef SLUICE_LEARNED_H
#define SLUICE_LEARNED_H

#include "launch/symbols.h"
#include "profile/profile.h"

struct sl_arena;
struct sl_budget;
struct sl_durations;
struct sl_history;
struct sl_migrator;
struct sl_placement;
struct sl_policy_traits;
struct sl_scanner;

struct sl_learned;

/* What is learned from, and primed by a profile. */
struct sl_learned_parts {
    const struct sl_policy_traits *policy;
    struct sl_arena *arena;
    struct sl_placement *placement;
    struct sl_scanner *scanner;
    struct sl_durations *durations;
    struct sl_history *history;
    struct sl_migrator *migrator;
    struct sl_budget *budget;
};

/* Looks for the profile at `path`, an option's text. One of another program or version, or a damaged one, is
 * ignored with one line. NULL: there is no path, or no memory. Before the core's sizes are decided:
 * sl_learned_wanted may say something about them. The parts are copied; they need not be initialised yet. */
struct sl_learned *sl_learned_read(const char *path, const struct sl_learned_parts *parts);
void sl_learned_close(struct sl_learned *learned); /* accepts NULL */

/* What the profile wants; zeros where it says nothing or there is none. Accepts NULL. */
struct sl_profile_wanted sl_learned_wanted(const struct sl_learned *learned);

/* Primes placement, symbols and predictor. pre: the parts are initialised, and nothing has happened yet. */
void sl_learned_use(struct sl_learned *learned);

/* What this site allocates has to be device memory: the next run is to know. A profile is written at the end
 * even if nothing repeated itself until then. Accepts NULL. */
void sl_learned_exported(struct sl_learned *learned, uint64_t site);

/* An iteration has ended. */
void sl_learned_iteration(struct sl_learned *learned);

/* What was learned is about to be forgotten: it is written before. */
void sl_learned_forget(struct sl_learned *learned);

/* Whether there is something to write that the profile which was read does not say. Accepts NULL. */
bool sl_learned_something(const struct sl_learned *learned);

/* Writes it. Errors give one line. SL_ERR_UNSUPPORTED: there is nothing to write, or another program's
 * profile is in the way. Accepts NULL. */
enum sl_status sl_learned_write(struct sl_learned *learned);

#endif
