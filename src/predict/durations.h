/* How long launches take on the device, by symbol: the median of the last few times that one was measured, so
 * that a launch that was held up once weighs nothing. A symbol that was never measured takes the mean of its
 * kernel. One measurement is enough where another launch of the same shape took as long: frameworks launch
 * the same on ever new tensors. Caller holds the order lock. */
#ifndef SLUICE_DURATION_H
#define SLUICE_DURATION_H

#include "base/map.h"
#include "base/types.h"

#define SL_DURATION_SAMPLES 3

struct sl_duration {
    uint32_t last[SL_DURATION_SAMPLES]; /* in steps of SL_DURATION_STEP_NS, at least 1 */
    uint32_t count;                     /* that were ever measured; stays at UINT32_MAX */
    bool confirmed;                     /* a launch of the same shape took as long */
    uint32_t begun, begun_in;           /* the caller's: how often it tried to measure it, and when last */
};
#define SL_DURATION_STEP_NS 32

struct sl_durations {
    struct sl_duration *symbols;
    struct sl_kernel_time {
        uint64_t ns, count;
    } * kernels;
    uint32_t symbol_capacity, kernel_capacity;
    struct sl_map shapes; /* what the last launch of each took, in steps */
};

void sl_durations_close(struct sl_durations *durations); /* accepts a zeroed one */
/* Symbols mean something else from now on; kernels do not. */
void sl_durations_forget(struct sl_durations *durations);

/* What is known of the symbol, to be read, but for what is the caller's; lives until the next call. NULL: no
 * memory. */
struct sl_duration *sl_durations_of(struct sl_durations *durations, sl_symbol symbol);

/* A launch of `symbol` (SL_NONE: not known any more) took `ns`. `kernel`: its number, or 0. `shape`: what it
 * has in common with launches that only have other addresses, or 0. */
void sl_durations_note(struct sl_durations *durations, sl_symbol symbol, uint32_t kernel, uint64_t shape,
                       uint64_t ns);

/* Nanoseconds that a launch of `symbol` takes; 0: not known. */
uint64_t sl_durations_ns(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel);

#endif
