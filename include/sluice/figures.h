/* Figures: a program asks, while it runs, what sluice has moved for it so far:
 *
 *     struct sluice_figures now;
 *     if (sluice_get_figures(0, &now)) printf("%llu stalls\n", (unsigned long long)now.stalls);
 *
 * There is nothing to link with. Where sluice is not preloaded, nothing is filled and 0 is returned. C99,
 * C++98 and later; with GCC, Clang and what is compatible with them on Linux, elsewhere the function is there
 * and returns 0.
 */
#ifndef SLUICE_FIGURES_H
#define SLUICE_FIGURES_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Members are only ever added, at the end. "plan": moved ahead of use by a plan; "demand": when a launch
 * needed it; "late": planned, but only the launch that needed it moved it. */
struct sluice_figures {
    /* Counters since sluice began to manage the device's context: */
    uint64_t launches;
    uint64_t bytes_in_plan, bytes_in_demand, bytes_in_late;    /* host to device */
    uint64_t bytes_out_plan, bytes_out_demand, bytes_out_late; /* device to host */
    uint64_t remote_bytes;                                     /* used in host memory, over the link */
    uint64_t demand_misses;     /* needed chunks that were neither resident nor planned */
    uint64_t late_prefetches;   /* planned chunks that only the launch that needs them fetched */
    uint64_t stalls, stall_ns;  /* launches that waited for data, and for how long by the device's clock */
    uint64_t events, predicted; /* launches, allocations and frees; how many of them were predicted */
    uint64_t plans, mispredictions;
    uint64_t steps; /* training steps that ended, or other repetitions of the program */
    /* Of the last of these steps: */
    uint64_t step_ns;                       /* by the host's clock */
    uint64_t device_step_ns, step_stall_ns; /* by the device's clock; 0: not measured lately */
    /* As of now, in bytes: */
    uint64_t budget_bytes;                        /* of the device, for the program's data */
    uint64_t occupied_bytes, peak_occupied_bytes; /* of it, in use: now, and at most so far */
    uint64_t live_bytes, need_bytes;              /* allocated: now, and at most so far */
    uint64_t host_bytes;                          /* of the host, taken for data */
    uint64_t chunk_bytes;
};

typedef size_t sluice_figures_function(unsigned number, struct sluice_figures *out, size_t bytes);

#if defined(__GNUC__) && defined(__linux__)
/* libsluice.so's, where it is loaded. */
extern size_t sluice_figures_v1(unsigned number, struct sluice_figures *out, size_t bytes)
    __attribute__((weak));
/* See sluice/marks.h. */
extern void *sluice_figures_look_up(void *where, const char *name) __asm__("dlsym") __attribute__((weak));

static inline sluice_figures_function *sluice_figures_find(void)
{
    sluice_figures_function *function = sluice_figures_v1;
    void *address = NULL;
    if (function) return function;
    if (sluice_figures_look_up) address = sluice_figures_look_up(NULL, "sluice_figures_v1");
    __builtin_memcpy(&function, &address, sizeof address);
    return function;
}
#else
static inline sluice_figures_function *sluice_figures_find(void)
{
    return NULL;
}
#endif

/* Fills *out with the figures of the process's managed context `number`, counted from 0 in the order of their
 * first use: usually one for each device. Returns how many bytes of *out are known, always its first ones; an
 * older sluice knows fewer, and sets the others to 0. 0, and *out is unchanged: there is no such context
 * (yet), or no sluice. Takes microseconds, and may wait for a launch of another thread. Any thread; not from
 * a signal handler. */
static inline size_t sluice_get_figures(unsigned number, struct sluice_figures *out)
{
    sluice_figures_function *function = sluice_figures_find();
    return function ? function(number, out, sizeof *out) : 0;
}

#ifdef __cplusplus
}
#endif

#endif
