/* Writes the trace of an invented program, as sluice would record it on a device with room for everything:
 * each launch with what it touches and how long it takes. A chunk is an allocation. Ends the process when a
 * record cannot be written. */
#ifndef SLUICE_TESTS_TRACE_MAKER_H
#define SLUICE_TESTS_TRACE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

struct trace_maker;

struct trace_use {
    uint32_t slot;
    bool written; /* or perhaps written */
};

struct trace_maker *trace_maker_open(const char *path, uint64_t chunk_bytes, uint64_t device_bytes);
void trace_maker_close(struct trace_maker *maker);

/* Kernels are numbered from 1; sites tell kinds of memory apart. */
void trace_maker_kernel(struct trace_maker *maker, uint32_t kernel, const char *name);
void trace_maker_alloc(struct trace_maker *maker, uint32_t slot, uint32_t site);
void trace_maker_free(struct trace_maker *maker, uint32_t slot);
bool trace_maker_lives(const struct trace_maker *maker, uint32_t slot);

/* The next launch, on a device that runs one after another. `threads` tells launches of one kernel apart. */
void trace_maker_launch(struct trace_maker *maker, uint32_t kernel, uint32_t stream, uint64_t threads,
                        double seconds, const struct trace_use *uses, uint32_t use_count);
/* The program waits for the stream of its last launch, as it does to read a loss. */
void trace_maker_end_step(struct trace_maker *maker);

#endif
