/* Profiles as bytes: docs/profile-format.md. */
#ifndef SLUICE_PROFILE_FORMAT_H
#define SLUICE_PROFILE_FORMAT_H

#include "profile/profile.h"

/* Frees what the profile holds and zeroes it. Accepts a zeroed one. */
void sl_profile_free(struct sl_profile *profile);

/* The slots of all keys. */
uint32_t sl_profile_slots(const struct sl_profile *profile);

/* The profile as bytes: *out is malloc's. SL_ERR_NO_MEMORY. */
enum sl_status sl_profile_encode(const struct sl_profile *profile, uint8_t **out, size_t *bytes);

/* Trusts nothing: on SL_OK all numbers are within what they refer to. SL_ERR_FORMAT: it is no profile, or
 * damaged; SL_ERR_VERSION: a profile of another version of the format; SL_ERR_TRUNCATED: one that ends early;
 * SL_ERR_NO_MEMORY. *out is set on SL_OK only. */
enum sl_status sl_profile_decode(const uint8_t *bytes, size_t count, struct sl_profile *out);

/* Whether the bytes begin like a profile, of whatever version and however damaged. */
#define SL_PROFILE_MAGIC "SLPROF\r\n"
bool sl_profile_is_one(const uint8_t *bytes, size_t count);

#endif
