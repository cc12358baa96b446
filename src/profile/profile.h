/* A profile: what a run of a program learned, for the next run. docs/profile-format.md describes the file.
 *
 * It contains no addresses: it names allocations by their sites, and launches by their kernels and the slots
 * that they touch. So a run with other addresses recognises itself in it. Its content is a hint that affects
 * speed only.
 */
#ifndef SLUICE_PROFILE_H
#define SLUICE_PROFILE_H

#include "base/output.h"
#include "base/types.h"
#include "trace/objects.h"

#define SL_PROFILE_VERSION 1u
#define SL_PROFILE_LONGEST_TEXT 4096u
#define SL_PROFILE_MOST_KERNELS ((uint32_t)1 << 14)
#define SL_PROFILE_MOST_SLOTS ((uint32_t)1 << 15)
#define SL_PROFILE_MOST_SYMBOLS ((uint32_t)1 << 16)
#define SL_PROFILE_MOST_ACCESSES ((uint32_t)1 << 20)
#define SL_PROFILE_MOST_OTHERS 31u
#define SL_PROFILE_LONGEST ((uint32_t)1 << 18) /* symbols in its string */

/* The profile owns all memory, from malloc. Texts may be NULL, which is written as "". */
struct sl_profile {
    char *sluice;       /* the version that wrote it */
    char *command;      /* the command line of the program */
    uint64_t written_s; /* since 1970 */

    /* Objects with code on the call stacks of allocations, the program itself first. */
    struct sl_object *objects;
    uint32_t object_count;

    /* Settings for the next run where the environment has none. */
    struct sl_profile_wanted {
        uint64_t budget_bytes, chunk_bytes; /* 0: no setting */
        char *backing;                      /* as an option; "": no setting */
    } wanted;

    /* From here to `others`, what each device has of its own. Properties of the run: */
    struct sl_profile_properties {
        uint64_t budget_bytes, chunk_bytes, need_bytes;
        uint64_t link_in_bytes_per_s, link_out_bytes_per_s; /* 0: not measured */
        uint64_t fed, predicted, iterations;
        uint64_t period; /* symbols in an iteration at the end */
    } properties;

    struct sl_profile_kernel {
        char *name;
        uint32_t parameter_count;
        uint32_t *offsets, *sizes; /* in one block: free offsets */
    } * kernels;
    uint32_t kernel_count;

    /* Allocations by site and size. Slots are numbered across the keys: first all of keys[0]. */
    struct sl_profile_key {
        uint64_t site, bytes;
        uint32_t slots;
        bool short_lived;
    } * keys;
    uint32_t key_count;

    /* symbols[0] stands for an unknown launch. */
    struct sl_profile_symbol {
        uint8_t kind;          /* enum sl_symbol_kind */
        uint32_t slot;         /* of an allocation or a free */
        uint32_t first_access; /* of a launch */
        uint32_t access_count;
        uint32_t kernel;      /* of a launch: number + 1, or 0 */
        uint64_t shape;       /* of a launch: a hash of all but its addresses */
        uint64_t duration_ns; /* of a launch; 0: not measured */
    } * symbols;
    uint32_t symbol_count;
    struct sl_profile_access {
        uint32_t slot, where;
        uint32_t kernel; /* number + 1 of the kernel that has the parameter; 0: a range of `bytes` bytes */
        uint64_t offset, bytes, threads;
        bool only_read; /* known not to be written */
    } * accesses;
    uint32_t access_count;

    uint32_t *string; /* symbols, from the program's first on */
    uint32_t string_count;

    /* What was learned of the process's further devices, in the order of their first use: properties and
     * everything from the kernels on. They have no others. */
    struct sl_profile *others;
    uint32_t other_count;
};

/* The first bytes of a profile. */
#define SL_PROFILE_MAGIC "SLPROF\r\n"
extern const struct sl_file_kind sl_file_profile;

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

/* --- profile_file.c: profiles as files: their format (docs/profile-format.md) and its compression. */

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
