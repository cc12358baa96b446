/* Primes the core from a profile. */
#ifndef SLUICE_LEARNED_PRIME_H
#define SLUICE_LEARNED_PRIME_H

#include "profile/profile.h"

struct sl_learned_parts;

/* Returns the number of symbols that the predictor got as its past; 0: not enough memory. Precondition: as
 * sl_learned_use. */
size_t sl_learned_prime(const struct sl_learned_parts *parts, const struct sl_profile *profile);

#endif
