#include "profile_sample.h"

#include <stdlib.h>
#include <string.h>

#include "launch/symbols.h"

/* A copy in memory of its own, for the profile to free. */
static void *copy(const void *from, size_t bytes)
{
    void *to = malloc(bytes);
    if (!to) abort();
    return memcpy(to, from, bytes);
}
#define COUNT(array) (uint32_t)(sizeof(array) / sizeof(*(array)))

struct sl_profile profile_sample(void)
{
    const struct sl_object objects[] = {{strdup("train"), {1, 2}}, {strdup("libmodel.so"), {3, 4}}};
    const uint32_t forward[] = {0, 8, 8, 8}, backward[] = {0, 8, 8, 24};
    const struct sl_profile_kernel kernels[] = {
        {strdup("forward"), 2, copy(forward, sizeof forward), NULL},
        {strdup("backward"), 2, copy(backward, sizeof backward), NULL}};
    const struct sl_profile_key keys[] = {{0x1234567890abcdef, 8 * SL_MIB, 3, false}, {7, 1024, 2, true}};
    const struct sl_profile_symbol symbols[] = {
        {.kind = SL_SYMBOL_LAUNCH},
        {.kind = SL_SYMBOL_ALLOC, .slot = 0},
        {.kind = SL_SYMBOL_LAUNCH, .access_count = 2, .kernel = 1, .shape = 99},
        {.kind = SL_SYMBOL_LAUNCH,
         .first_access = 2,
         .access_count = 3,
         .shape = UINT64_MAX,
         .duration_ns = 77000},
        {.kind = SL_SYMBOL_FREE, .slot = 4}};
    const struct sl_profile_access accesses[] = {
        {.slot = 0, .where = 0, .kernel = 1, .threads = 256},
        {.slot = 1, .where = 65536, .kernel = 1, .offset = 4096, .threads = 256},
        {.slot = 2, .kernel = 2, .threads = INT64_MAX},
        {.slot = 3, .kernel = 2, .where = 1 << 16 | 8, .threads = 1},
        {.slot = 4, .bytes = 1024, .only_read = true}};
    const uint32_t string[] = {0, 1, 2, 3, 2, 3, 2, 3, 4};
    struct sl_profile profile = {
        .sluice = strdup("1.2.3"),
        .command = strdup("train --steps 3"),
        .written_s = 1790000000,
        .wanted = {.chunk_bytes = 4 * SL_MIB},
        .properties = {.budget_bytes = 300 * SL_MIB,
                  .chunk_bytes = 2 * SL_MIB,
                  .need_bytes = 600 * SL_MIB,
                  .link_in_bytes_per_s = 24000000000,
                  .link_out_bytes_per_s = 23000000000,
                  .fed = 9,
                  .predicted = 4,
                  .iterations = 2,
                  .period = 2},
        .objects = copy(objects, sizeof objects),
        .object_count = COUNT(objects),
        .kernels = copy(kernels, sizeof kernels),
        .kernel_count = COUNT(kernels),
        .keys = copy(keys, sizeof keys),
        .key_count = COUNT(keys),
        .symbols = copy(symbols, sizeof symbols),
        .symbol_count = COUNT(symbols),
        .accesses = copy(accesses, sizeof accesses),
        .access_count = COUNT(accesses),
        .string = copy(string, sizeof string),
        .string_count = COUNT(string),
    };
    for (uint32_t k = 0; k < profile.kernel_count; k++)
        profile.kernels[k].sizes = profile.kernels[k].offsets + profile.kernels[k].parameter_count;
    return profile;
}
