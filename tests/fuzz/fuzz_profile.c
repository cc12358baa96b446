/* Any bytes as a profile: the reader must neither crash nor hand out what refers to nothing, and what it
 * accepts it must write the same way. The length and the checksum are repaired first, or nothing but their
 * refusal would be tested; what is not packed is packed. */
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#include "profile/profile.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

enum { HEADER_BYTES = 40, CHECKSUM_AT = 32 };

static void put_number(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof value);
}

/* The input is the payload of a profile. */
static uint8_t *pack(const uint8_t *payload, size_t size, size_t *count)
{
    size_t most = ZSTD_compressBound(size);
    uint8_t *file = calloc(1, HEADER_BYTES + most);
    if (!file) abort();
    size_t stored = ZSTD_compress(file + HEADER_BYTES, most, payload, size, 1);
    if (ZSTD_isError(stored)) abort();
    memcpy(file, "SLPROF\r\n", 8);
    put_number(file + 8, SL_PROFILE_VERSION | (uint64_t)HEADER_BYTES << 32);
    put_number(file + 16, size);
    put_number(file + 24, stored);
    put_number(file + CHECKSUM_AT, XXH64(file + HEADER_BYTES, stored, XXH64(file, CHECKSUM_AT, 0)));
    *count = HEADER_BYTES + stored;
    return file;
}

static void check(const struct sl_profile *profile)
{
    uint32_t slots = sl_profile_slots(profile);
    for (uint32_t a = 0; a < profile->access_count; a++)
        if (profile->accesses[a].slot >= slots || profile->accesses[a].kernel > profile->kernel_count)
            abort();
    for (uint32_t s = 0; s < profile->symbol_count; s++) {
        const struct sl_profile_symbol *symbol = &profile->symbols[s];
        if (symbol->first_access + symbol->access_count > profile->access_count) abort();
        if (symbol->kind && symbol->slot >= slots) abort();
        if (symbol->kernel > profile->kernel_count) abort();
    }
    for (uint32_t i = 0; i < profile->string_count; i++)
        if (profile->string[i] >= profile->symbol_count) abort();
    uint8_t *again;
    size_t count;
    struct sl_profile back;
    if (sl_profile_encode(profile, &again, &count)) abort();
    if (sl_profile_decode(again, count, &back)) abort();
    sl_profile_free(&back);
    free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    struct sl_profile profile;
    if (sl_profile_decode(bytes, size, &profile) == SL_OK) sl_profile_free(&profile);
    size_t count;
    uint8_t *file = pack(bytes, size, &count);
    if (sl_profile_decode(file, count, &profile) == SL_OK) {
        check(&profile);
        sl_profile_free(&profile);
    }
    free(file);
    return 0;
}
