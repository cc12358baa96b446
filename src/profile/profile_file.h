/* Profiles as files: their format (docs/profile-format.md) and its compression. */
#ifndef SLUICE_PROFILE_FILE_H
#define SLUICE_PROFILE_FILE_H

#include "profile/profile.h"

/* Reads a profile file. SL_ERR_IO with errno (ENOENT if there is no file), or the errors of
 * sl_profile_decode. *is_one (may be NULL): whether the file may be replaced: it is a profile of any version
 * and in any condition, or empty, or overwriting is allowed. */
enum sl_status sl_profile_read(const char *path, struct sl_profile *out, bool *is_one);
/* Writes the file as a whole or not at all: replaces it once it is complete. Mode 0600; never through a link,
 * never in place of another user's file. */
enum sl_status sl_profile_write(const char *path, const struct sl_profile *profile);

/* Encodes the profile. The caller frees *out with free(). SL_ERR_NO_MEMORY. */
enum sl_status sl_profile_encode(const struct sl_profile *profile, uint8_t **out, size_t *bytes);

/* Decodes a profile. Trusts nothing: on SL_OK all numbers are within their ranges. SL_ERR_FORMAT: not a
 * profile, or damaged; SL_ERR_VERSION: another version of the format; SL_ERR_TRUNCATED: ends early;
 * SL_ERR_NO_MEMORY. *out is set on SL_OK only. */
enum sl_status sl_profile_decode(const uint8_t *bytes, size_t count, struct sl_profile *out);

/* Whether the bytes begin like a profile, of any version and in any condition. */
bool sl_profile_is_one(const uint8_t *bytes, size_t count);

#endif
