/* Durations of launches on the device, by symbol: the median of the last few measurements, so that one
 * delayed launch has no effect. A symbol that was never measured gets the mean of its kernel. One measurement
 * suffices if another launch of the same shape took as long: frameworks repeat launches on ever new tensors.
 * Caller holds the order lock. */
#ifndef SLUICE_DURATION_H
#define SLUICE_DURATION_H

#include "base/map.h"
#include "base/types.h"

#define SL_DURATION_SAMPLES 3

struct sl_duration {
    uint32_t last[SL_DURATION_SAMPLES]; /* in units of SL_DURATION_STEP_NS, at least 1 */
    uint32_t count;                     /* measurements so far; stays at UINT32_MAX */
    bool confirmed;                     /* another launch of the same shape took as long */
    uint32_t begun, begun_in; /* the caller's: number of tries to measure it, and the iteration of the last */
};
#define SL_DURATION_STEP_NS 32

struct sl_durations {
    struct sl_duration *symbols;
    struct sl_kernel_time {
        uint64_t ns, count;
    } * kernels;
    uint32_t symbol_capacity, kernel_capacity;
    struct sl_map shapes; /* to the duration of its last launch, in units of SL_DURATION_STEP_NS */
};

void sl_durations_close(struct sl_durations *durations); /* accepts a zeroed one */
/* Symbols are numbered anew; kernels are not. */
void sl_durations_forget(struct sl_durations *durations);

/* The data of the symbol, valid until the next call. The caller may change only its own members. NULL: no
 * memory. */
struct sl_duration *sl_durations_of(struct sl_durations *durations, sl_symbol symbol);

/* A launch of `symbol` (SL_NONE: forgotten meanwhile) took `ns`. `kernel`: its number, or 0. `shape`: a hash
 * of everything except its addresses, or 0. */
void sl_durations_note(struct sl_durations *durations, sl_symbol symbol, uint32_t kernel, uint64_t shape,
                       uint64_t ns);

/* The duration of a launch of `symbol` in nanoseconds; 0: unknown. */
uint64_t sl_durations_ns(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel);

#endif
