#include "sampled_contents.h"

#include <string.h>

#include "log.h"
#include "options.h"

#define CARRIED_BYTES (UINT64_C(1) << 20)
#define MOST_INDICES (UINT64_C(64) << 20) /* bytes */
#define BLOCK_BYTES (UINT64_C(2) << 20)

static bool is_in_device(enum sc_side side)
{
    return side == SC_SIDE_DEVICE || side == SC_SIDE_MANAGED;
}

struct sc_copy_work sc_sampled_copy(const struct sc_copy_work *work)
{
    struct sc_copy_work part = *work;
    bool to_device = is_in_device(work->to), from_device = is_in_device(work->from);
    if ((!to_device && !from_device) || work->width * work->height * work->depth <= CARRIED_BYTES)
        return part;
    part.height = part.depth = 1;
    if (part.width > CARRIED_BYTES) part.width = CARRIED_BYTES;
    return part;
}

struct sc_set_work sc_sampled_set(const struct sc_set_work *work)
{
    struct sc_set_work part = *work;
    if (!is_in_device(work->to) || work->width * work->element_bytes * work->height <= CARRIED_BYTES)
        return part;
    part.height = 1;
    if (part.width * part.element_bytes > CARRIED_BYTES) part.width = CARRIED_BYTES / part.element_bytes;
    return part;
}

bool sc_sampled_is_scrap(const struct sc_cost *cost, size_t i)
{
    return cost->bytes_written > MOST_INDICES && cost->blocks[i].bytes_written >= BLOCK_BYTES;
}

/* The bits of infinity, of the NaN that the host's arithmetic gives, and of 1. */
struct format {
    uint64_t sign, infinity, nan, one;
};
static const struct format binary64 = {UINT64_C(1) << 63, UINT64_C(0x7ff) << 52, UINT64_C(0xfff) << 51,
                                       UINT64_C(0x3ff) << 52};
static const struct format binary32 = {UINT64_C(1) << 31, 0x7f800000, 0x7fc00000, 0x3f800000};
static const struct format bfloat16 = {0x8000, 0x7f80, 0x7fc0, 0x3f80};
static const struct format binary16 = {0x8000, 0x7c00, 0x7e00, 0x3c00};

/* Other NaNs have the bits of integers that programs use: the negative ones near 0, and the largest. A single
 * number is hardly ever the largest integer. */
static bool is_finite(uint64_t bits, const struct format *format, bool single)
{
    uint64_t without_sign = bits & ~format->sign;
    if (without_sign == format->infinity || without_sign == format->nan) return false;
    return !single || bits < format->infinity || bits & format->sign;
}

/* Returns how many numbers were replaced. */
static uint64_t make_row_finite(char *row, uint64_t bytes, uint64_t width, const struct format *format)
{
    uint64_t replaced = 0;
    for (uint64_t at = 0; at + width <= bytes; at += width) {
        uint64_t bits = 0;
        memcpy(&bits, row + at, width);
        if (is_finite(bits, format, bytes == width)) continue;
        memcpy(row + at, &format->one, width);
        replaced++;
    }
    return replaced;
}

void sc_sampled_make_finite(const struct sc_copy_work *work)
{
    static bool said; /* atomic */
    uint64_t replaced = 0;
    if (is_in_device(work->to) || !is_in_device(work->from)) return;
    for (uint64_t z = 0; z < work->depth; z++)
        for (uint64_t y = 0; y < work->height; y++) {
            char *row = (char *)work->destination + z * work->destination_slice + y * work->destination_pitch;
            if (work->width == 2)
                replaced += make_row_finite(row, 2, 2, &bfloat16) + make_row_finite(row, 2, 2, &binary16);
            if (work->width % 8 == 0) replaced += make_row_finite(row, work->width, 8, &binary64);
            if (work->width % 4 == 0) replaced += make_row_finite(row, work->width, 4, &binary32);
        }
    if (replaced && !__atomic_exchange_n(&said, true, __ATOMIC_RELAXED))
        sc_log("the program reads infinities and NaNs that nothing computed (SOFTCUDA_EXECUTE=sample): it "
               "gets 1 in their place");
}
