#include "predict/durations.h"

#include <stdlib.h>
#include <string.h>

#define MOST_SHAPES ((size_t)1 << 16) /* with more, all are forgotten */

/* Use in place. A kernel that passes over its memory once reads some of it, and writes some of that again. */
#define PASSES_ONCE 0.4 /* at least so fast, relative to the device's memory */
#define TOO_FAST 3.0    /* it is not known what it uses */
#define UNMEASURED_COST 1.0
#define LEAST_COST 0.5
#define MOST_COST 4.0
#define RISE 1.02 /* of the least cost, with each measurement that is more */
#define LEAST_IN_PLACE_BYTES ((uint64_t)256 * SL_KIB)
enum { BETWEEN_IN_PLACE = 64, ENOUGH_IN_PLACE = 3 };

enum { ALIKE_PART = 8 }; /* durations that differ by at most this part confirm each other */

void sl_durations_close(struct sl_durations *durations)
{
    free(durations->symbols);
    free(durations->kernels);
    sl_map_free(&durations->shapes);
    *durations = (struct sl_durations){0};
}

void sl_durations_forget(struct sl_durations *durations)
{
    if (!durations->symbols) return;
    memset(durations->symbols, 0, durations->symbol_capacity * sizeof *durations->symbols);
}

/* Makes room for index `at` in an array, with zeros in the new part. */
static bool reserve(void *array, uint32_t *capacity, uint32_t at, size_t size)
{
    uint32_t wanted = *capacity ? *capacity : 64;
    if (at < *capacity) return true;
    while (wanted <= at) wanted *= 2;
    char *larger = realloc(*(void **)array, wanted * size);
    if (!larger) return false;
    memset(larger + *capacity * size, 0, (wanted - *capacity) * size);
    *(void **)array = larger;
    *capacity = wanted;
    return true;
}

struct sl_duration *sl_durations_of(struct sl_durations *durations, sl_symbol symbol)
{
    bool room = reserve(&durations->symbols, &durations->symbol_capacity, symbol, sizeof *durations->symbols);
    return room ? &durations->symbols[symbol] : NULL;
}

/* Whether the last launch of the shape took as long. */
static bool confirm(struct sl_map *shapes, uint64_t shape, uint32_t steps)
{
    uint32_t last = sl_map_get(shapes, shape);
    if (shapes->count >= MOST_SHAPES) sl_map_free(shapes);
    sl_map_put(shapes, shape, steps); /* without memory, nothing is confirmed */
    return last != SL_NONE && (last < steps ? steps - last : last - steps) <= steps / ALIKE_PART;
}

void sl_durations_note(struct sl_durations *durations, sl_symbol symbol, uint32_t kernel, uint64_t shape,
                       uint64_t ns)
{
    uint64_t exact = (ns + SL_DURATION_STEP_NS / 2) / SL_DURATION_STEP_NS;
    uint32_t steps = exact < 1 ? 1 : exact < SL_NONE ? (uint32_t)exact : SL_NONE - 1;
    struct sl_duration *known = symbol == SL_NONE ? NULL : sl_durations_of(durations, symbol);
    bool confirmed = shape && confirm(&durations->shapes, shape, steps);
    if (known) {
        known->last[known->count % SL_DURATION_SAMPLES] = steps;
        if (known->count < UINT32_MAX) known->count++;
        known->confirmed |= confirmed;
    }
    if (!kernel ||
        !reserve(&durations->kernels, &durations->kernel_capacity, kernel, sizeof *durations->kernels))
        return;
    durations->kernels[kernel].ns += ns;
    durations->kernels[kernel].count++;
}

/* Of two measurements the smaller one, because disturbances make a measurement longer. */
static uint32_t median(const struct sl_duration *known)
{
    uint32_t a = known->last[0], b = known->last[1], c = known->last[2];
    uint32_t low = a < b ? a : b, high = a < b ? b : a;
    if (known->count == 1) return a;
    if (known->count == 2 || c < low) return low;
    return c < high ? c : high;
}

uint64_t sl_durations_ns(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel)
{
    if (symbol < durations->symbol_capacity && durations->symbols[symbol].count)
        return (uint64_t)median(&durations->symbols[symbol]) * SL_DURATION_STEP_NS;
    if (kernel < durations->kernel_capacity && durations->kernels[kernel].count)
        return durations->kernels[kernel].ns / durations->kernels[kernel].count;
    return 0;
}

/* NULL: not enough of the kernel, or of the symbol if the kernel is unknown, was measured. */
static const struct sl_in_place *in_place_of(const struct sl_durations *durations, sl_symbol symbol,
                                             uint32_t kernel)
{
    const struct sl_in_place *of = NULL;
    if (kernel && kernel < durations->kernel_capacity) of = &durations->kernels[kernel].in_place;
    if (!kernel && symbol < durations->symbol_capacity) of = &durations->symbols[symbol].in_place;
    return of && of->count >= ENOUGH_IN_PLACE ? of : NULL;
}

void sl_durations_note_in_place(struct sl_durations *durations, sl_symbol symbol, uint32_t kernel,
                                uint64_t link_ns, uint64_t ns)
{
    struct sl_in_place *of;
    if (kernel) {
        if (!reserve(&durations->kernels, &durations->kernel_capacity, kernel, sizeof *durations->kernels))
            return;
        of = &durations->kernels[kernel].in_place;
    } else {
        struct sl_duration *known = symbol == SL_NONE ? NULL : sl_durations_of(durations, symbol);
        if (!known) return;
        of = &known->in_place;
    }
    if (!link_ns) return;
    double cost = (double)ns / (double)link_ns, risen = RISE * of->cost;
    of->cost = !of->count || cost < risen ? cost : risen;
    if (of->count < ENOUGH_IN_PLACE) of->count++;
}

bool sl_durations_lack_in_place(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel,
                                uint64_t number)
{
    return number % BETWEEN_IN_PLACE == 0 || !in_place_of(durations, symbol, kernel);
}

/* Whether launches of the symbol are about as fast as the device's memory. */
static bool passes_once(const struct sl_durations *durations, sl_symbol symbol, uint64_t bytes)
{
    if (symbol >= durations->symbol_capacity || !durations->symbols[symbol].count) return false;
    double rate = (double)bytes / ((double)median(&durations->symbols[symbol]) * SL_DURATION_STEP_NS);
    double device = (double)durations->device_bytes_per_s / 1e9;
    return rate >= PASSES_ONCE * device && rate <= TOO_FAST * device;
}

double sl_durations_in_place(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel,
                             uint64_t bytes)
{
    const struct sl_in_place *measured = in_place_of(durations, symbol, kernel);
    if (bytes < LEAST_IN_PLACE_BYTES) return 0;
    if (!measured) return passes_once(durations, symbol, bytes) ? UNMEASURED_COST : 0;
    double cost = measured->cost;
    return cost > MOST_COST ? 0 : cost > LEAST_COST ? cost : LEAST_COST;
}
