/* Encodes and decodes profiles: docs/profile-format.md. */
#ifndef SLUICE_PROFILE_FORMAT_H
#define SLUICE_PROFILE_FORMAT_H

#include "profile/profile.h"

/* Frees the profile's memory and zeroes it. Accepts a zeroed one. */
void sl_profile_free(struct sl_profile *profile);

/* The number of slots of all keys. */
uint32_t sl_profile_slots(const struct sl_profile *profile);

/* Moves what was learned of a device, of which 0 is the first one, out of the profile. False: it has nothing
 * of that device. */
bool sl_profile_take_device(struct sl_profile *from, uint32_t device, struct sl_profile *out);
/* Replaces what was learned of a device by that of the first device of `from`. SL_ERR_NO_MEMORY;
 * SL_ERR_UNSUPPORTED: too many devices. Then nothing has changed. */
enum sl_status sl_profile_put_device(struct sl_profile *to, uint32_t device, struct sl_profile *from);

/* Encodes the profile. The caller frees *out with free(). SL_ERR_NO_MEMORY. */
enum sl_status sl_profile_encode(const struct sl_profile *profile, uint8_t **out, size_t *bytes);

/* Decodes a profile. Trusts nothing: on SL_OK all numbers are within their ranges. SL_ERR_FORMAT: not a
 * profile, or damaged; SL_ERR_VERSION: another version of the format; SL_ERR_TRUNCATED: ends early;
 * SL_ERR_NO_MEMORY. *out is set on SL_OK only. */
enum sl_status sl_profile_decode(const uint8_t *bytes, size_t count, struct sl_profile *out);

/* Whether the bytes begin like a profile, of any version and in any condition. */
#define SL_PROFILE_MAGIC "SLPROF\r\n"
bool sl_profile_is_one(const uint8_t *bytes, size_t count);

#endif
