/* From a profile to what the core knows. */
#ifndef SLUICE_LEARNED_PRIME_H
#define SLUICE_LEARNED_PRIME_H

#include "profile/profile.h"

struct sl_learned_parts;

/* Returns the symbols of which the predictor's past now consists; 0 when there was no memory for it all. pre:
 * as sl_learned_use. */
size_t sl_learned_prime(const struct sl_learned_parts *parts, const struct sl_profile *profile);

#endif
