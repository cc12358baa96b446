/* Durations of launches on the device, by symbol: the median of the last few measurements, so that one
 * delayed launch has no effect. A symbol that was never measured gets the mean of its kernel. One measurement
 * suffices if another launch of the same shape took as long: frameworks repeat launches on ever new tensors.
 * Caller holds the order lock. */
#ifndef SLUICE_DURATION_H
#define SLUICE_DURATION_H

#include "base/map.h"
#include "base/types.h"

#define SL_DURATION_SAMPLES 3

/* Launches that used memory in place: the time of one, relative to what its bytes there take on the link
 * alone. Of several the least, because movements beside a launch make it slower, which plans count by
 * themselves; it rises with each that is more, so that what has become slower is seen. */
struct sl_in_place {
    double cost;
    uint32_t count; /* measurements, as far as it matters */
};

struct sl_duration {
    uint32_t last[SL_DURATION_SAMPLES]; /* in units of SL_DURATION_STEP_NS, at least 1 */
    uint32_t count;                     /* measurements so far; stays at UINT32_MAX */
    bool confirmed;                     /* another launch of the same shape took as long */
    struct sl_in_place in_place;        /* if the kernel is unknown */
    uint32_t begun, begun_in; /* the caller's: number of tries to measure it, and the iteration of the last */
};
#define SL_DURATION_STEP_NS 32

struct sl_durations {
    struct sl_duration *symbols;
    struct sl_kernel_time {
        uint64_t ns, count;
        struct sl_in_place in_place;
    } * kernels;
    uint64_t device_bytes_per_s; /* of the device's memory; 0: unknown */
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

/* A launch took `ns` with bytes in host memory that take `link_ns` on the link. Arguments as for
 * sl_durations_note. */
void sl_durations_note_in_place(struct sl_durations *durations, sl_symbol symbol, uint32_t kernel,
                                uint64_t link_ns, uint64_t ns);
/* Whether that is to be measured: it was not, or it is long ago. `number`: of the launch. */
bool sl_durations_lack_in_place(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel,
                                uint64_t number);

/* How long a launch that uses `bytes` takes if they are in host memory, as a multiple of their time on the
 * link; 0: too long, or unknown. It is short if the kernel passes over them about once: so it was measured,
 * or, before that, a launch of the symbol was about as fast as the device's memory. A kernel that reads them
 * again and again (a matrix product) finds them in the device's cache, but not what is in host memory. */
double sl_durations_in_place(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel,
                             uint64_t bytes);

/* The duration of a launch of `symbol` in nanoseconds; 0: unknown. */
uint64_t sl_durations_ns(const struct sl_durations *durations, sl_symbol symbol, uint32_t kernel);

#endif
