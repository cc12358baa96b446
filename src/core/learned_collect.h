/* From what the core knows to a profile. */
#ifndef SLUICE_LEARNED_COLLECT_H
#define SLUICE_LEARNED_COLLECT_H

#include "launch/symbols.h"
#include "profile/profile.h"

struct sl_learned_parts;

/* Everything that a profile holds, but for what it wants. `head`: the symbols from the first on, of which
 * `steady` had come when the last iteration ended. SL_ERR_NO_MEMORY. */
enum sl_status sl_learned_collect(const struct sl_learned_parts *parts, const sl_symbol *head, size_t count,
                                  size_t steady, struct sl_profile *out);

#endif
