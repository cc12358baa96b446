/* A profile: what a run of a program learned, for the next one. docs/profile-format.md describes the file.
 *
 * It names nothing by address: allocations by where they came from, launches by their kernels and by what
 * they touch, so that a run in which everything lies elsewhere finds itself in it. Whatever it says is a hint
 * about speed.
 */
#ifndef SLUICE_PROFILE_H
#define SLUICE_PROFILE_H

#include "base/file_kind.h"
#include "base/types.h"
#include "trace/identity.h"

#define SL_PROFILE_VERSION 1u
#define SL_PROFILE_LONGEST_TEXT 4096u
#define SL_PROFILE_MOST_KERNELS ((uint32_t)1 << 14)
#define SL_PROFILE_MOST_SLOTS ((uint32_t)1 << 15)
#define SL_PROFILE_MOST_SYMBOLS ((uint32_t)1 << 16)
#define SL_PROFILE_MOST_ACCESSES ((uint32_t)1 << 20)
#define SL_PROFILE_LONGEST ((uint32_t)1 << 18) /* symbols in its string */

/* All memory is the profile's own, from malloc; texts may be NULL, which is written as "". */
struct sl_profile {
    char *sluice;       /* the version that wrote it */
    char *command;      /* with which the program was started */
    uint64_t written_s; /* since 1970 */

    /* Code that stood on the call stacks of allocations, the program itself first. */
    struct sl_object *objects;
    uint32_t object_count;

    /* What the next run is to use where the environment says nothing else. */
    struct sl_profile_wanted {
        uint64_t budget_bytes, chunk_bytes; /* 0: nothing is said */
        char *backing;                      /* as an option; "": nothing is said */
    } wanted;

    /* What the run was like. */
    struct sl_profile_properties {
        uint64_t budget_bytes, chunk_bytes, need_bytes;
        uint64_t link_in_bytes_per_s, link_out_bytes_per_s; /* 0: not measured */
        uint64_t fed, predicted, iterations;
        uint64_t period; /* symbols in an iteration at the end */
    } properties;

    struct sl_profile_kernel {
        char *name;
        uint32_t parameter_count;
        uint32_t *offsets, *sizes; /* one block: free offsets */
    } * kernels;
    uint32_t kernel_count;

    /* Allocations that are distinguished by site and size. Slots are numbered through: first all of keys[0].
     */
    struct sl_profile_key {
        uint64_t site, bytes;
        uint32_t slots;
        bool short_lived;
    } * keys;
    uint32_t key_count;

    /* symbols[0] stands for a launch of which nothing is known. */
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
        uint32_t kernel; /* number + 1 of the kernel whose parameter it is; 0: a range of `bytes` bytes */
        uint64_t offset, bytes, threads;
        bool only_read; /* surely not written */
    } * accesses;
    uint32_t access_count;

    uint32_t *string; /* symbols, from the program's first on */
    uint32_t string_count;
};

/* Files. SL_ERR_IO with errno; otherwise as above. *is_one (may be NULL): whether the file is a profile, of
 * whatever version and however damaged, or empty, or may be overwritten: one that may be replaced. A file
 * that is not there is SL_ERR_IO and ENOENT. */
enum sl_status sl_profile_read(const char *path, struct sl_profile *out, bool *is_one);
/* All of it or nothing: the file is replaced when it is complete. Mode 0600; never through a link, never in
 * the place of another user's file. */
enum sl_status sl_profile_write(const char *path, const struct sl_profile *profile);

/* What a profile begins with. */
extern const struct sl_file_kind sl_file_profile;

#endif
