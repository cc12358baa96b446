/* What this run learns of its program, for the next one, and what the one before learned: SLUICE_PROFILE.
 * Caller holds the order lock, or is the only thread yet. All but sl_learned_read do nothing where no profile
 * is asked for. */
#ifndef SLUICE_LEARNED_H
#define SLUICE_LEARNED_H

#include "launch/symbols.h"
#include "profile/profile.h"

struct sl_core;

/* Looks for the profile that SLUICE_PROFILE names. One of another program or version, or a damaged one, is
 * ignored with one line. Before the core's sizes are decided: sl_learned_wanted may say something about them.
 */
void sl_learned_read(struct sl_core *core);
void sl_learned_close(struct sl_core *core); /* also where there is none */

/* What the profile wants; zeros where it says nothing or there is none. */
struct sl_profile_wanted sl_learned_wanted(const struct sl_core *core);

/* Primes placement, symbols and predictor. pre: the core is built, and nothing has happened yet. */
void sl_learned_use(struct sl_core *core);

/* An iteration has ended. */
void sl_learned_iteration(struct sl_core *core);

/* What was learned is about to be forgotten: it is written before. */
void sl_learned_forget(struct sl_core *core);

/* Whether there is something to write that the profile which was read does not say. */
bool sl_learned_something(const struct sl_core *core);

/* Writes it. Errors give one line. SL_ERR_UNSUPPORTED: there is nothing to write, or another program's
 * profile is in the way. */
enum sl_status sl_learned_write(struct sl_core *core);

#endif
