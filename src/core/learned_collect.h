/* Collects the core's state into a profile. */
#ifndef SLUICE_LEARNED_COLLECT_H
#define SLUICE_LEARNED_COLLECT_H

#include "launch/symbols.h"
#include "profile/profile.h"

struct sl_learned_parts;

/* Fills in everything except the profile's settings. `head`: the program's first symbols, `steady` of which
 * were fed before the last iteration ended. SL_ERR_NO_MEMORY. */
enum sl_status sl_learned_collect(const struct sl_learned_parts *parts, const sl_symbol *head, size_t count,
                                  size_t steady, struct sl_profile *out);

#endif
