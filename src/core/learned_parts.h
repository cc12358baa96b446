/* The core's parts and a profile: what a run learned is collected from them, and the next run's are primed
 * from it. */
#ifndef SLUICE_LEARNED_PARTS_H
#define SLUICE_LEARNED_PARTS_H

#include "launch/symbols.h"
#include "profile/profile.h"

struct sl_core;

/* Returns the number of symbols that the predictor got as its past; 0: not enough memory. Precondition: as
 * sl_learned_use. */
size_t sl_learned_prime(struct sl_core *core, const struct sl_profile *profile);

/* Fills in everything except the profile's settings. `head`: the program's first symbols, `steady` of which
 * were fed before the last iteration ended. SL_ERR_NO_MEMORY. */
enum sl_status sl_learned_collect(struct sl_core *core, const sl_symbol *head, size_t count, size_t steady,
                                  struct sl_profile *out);

#endif
