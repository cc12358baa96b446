#include "rows.h"

#include <pthread.h>
#include <string.h>

#define T_b16 4, 'b'
#define T_u16 4, 'b'
#define T_s16 4, 'b'
#define T_u8 4, 'b'
#define T_s8 4, 'b'
#define T_b32 4, 'b'
#define T_u32 4, 'b'
#define T_s32 4, 'b'
#define T_b64 8, 'b'
#define T_u64 8, 'b'
#define T_s64 8, 'b'
#define T_f16 4, 'b'
#define T_f16z 4, 'b'
#define T_bf16 4, 'b'
#define T_f32 4, 'f'
#define T_f64 8, 'f'
#define T_none 0, 0

#define ENTRY(...) ENTRY_(__VA_ARGS__)
#define ENTRY_(name, flops, n, db, dt, ab, at, bb, bt, cb, ct, eb, et)                                       \
    {name, flops, n, {db, ab, bb, cb, eb}, {dt, at, bt, ct, et}},

#define ROW1(flops, name, D, A, ...) ENTRY(#name, flops, 1, T_##D, T_##A, T_none, T_none, T_none)
#define ROW2(flops, name, D, A, B, ...) ENTRY(#name, flops, 2, T_##D, T_##A, T_##B, T_none, T_none)
#define ROW3(flops, name, D, A, B, C, ...) ENTRY(#name, flops, 3, T_##D, T_##A, T_##B, T_##C, T_none)
#define ROW4(flops, name, D, A, B, C, E, ...) ENTRY(#name, flops, 4, T_##D, T_##A, T_##B, T_##C, T_##E)

const struct sc_row sc_rows[SC_OP_LANE_COUNT] = {
#include "ops.def"
};

#define SLOTS 4096u /* size of the name table: a power of two, several times the number of rows */
_Static_assert(SC_OP_LANE_COUNT * 2 < SLOTS, "the name table is too small");

static uint16_t slots[SLOTS];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static uint32_t hash_of(const char *name)
{
    uint32_t hash = 2166136261u;
    while (*name) hash = (hash ^ (unsigned char)*name++) * 16777619u;
    return hash;
}

static void fill(void)
{
    for (uint16_t i = 0; i < SC_OP_LANE_COUNT; i++) {
        uint32_t at = hash_of(sc_rows[i].name) % SLOTS;
        while (slots[at]) at = (at + 1) % SLOTS;
        slots[at] = (uint16_t)(i + 1);
    }
}

uint16_t sc_row_find(const char *name)
{
    pthread_once(&once, fill);
    for (uint32_t at = hash_of(name) % SLOTS; slots[at]; at = (at + 1) % SLOTS)
        if (strcmp(sc_rows[slots[at] - 1].name, name) == 0) return (uint16_t)(slots[at] - 1);
    return SC_OP_CODE_COUNT;
}
