/* Writes the trace of an invented or a recorded program, as sluice would record it on a device with room for
 * everything: each launch with what it touches and how long it takes. Ends the process when a record cannot
 * be written. */
#ifndef SLUICE_TESTS_TRACE_MAKER_H
#define SLUICE_TESTS_TRACE_MAKER_H

#include <stdbool.h>
#include <stdint.h>

#include "core/runtime.h"
#include "trace/events.h"

struct trace_maker;

struct trace_use {
    uint32_t slot;
    bool written;           /* or perhaps written */
    uint64_t offset, bytes; /* 0 bytes: all of it */
};

struct trace_launch {
    enum sl_launch_kind kind;
    enum sl_copy_direction direction;
    uint32_t kernel; /* 0 for what is none */
    uint32_t stream;
    uint64_t size; /* threads of a kernel, which tell launches of one kernel apart; bytes of what is none */
    uint64_t duration_ns;
};

struct trace_maker *trace_maker_open(const char *path, uint64_t chunk_bytes, uint64_t device_bytes);
void trace_maker_close(struct trace_maker *maker);

/* Kernels are numbered from 1; sites tell kinds of memory apart. */
void trace_maker_kernel(struct trace_maker *maker, uint32_t kernel, const char *name);
void trace_maker_alloc(struct trace_maker *maker, uint32_t slot, uint32_t site); /* of a chunk */
void trace_maker_alloc_bytes(struct trace_maker *maker, uint32_t slot, uint32_t site, uint64_t bytes);
void trace_maker_free(struct trace_maker *maker, uint32_t slot);
bool trace_maker_lives(const struct trace_maker *maker, uint32_t slot);

/* The next launch, on a device that runs one after another. */
void trace_maker_run(struct trace_maker *maker, const struct trace_launch *launch,
                     const struct trace_use *uses, uint32_t use_count);
void trace_maker_launch(struct trace_maker *maker, uint32_t kernel, uint32_t stream, uint64_t threads,
                        double seconds, const struct trace_use *uses, uint32_t use_count);
/* The program waits for the stream of its last launch, or for all. */
void trace_maker_wait(struct trace_maker *maker, bool all);
/* It waits for that stream, as to read a loss, and begins a new step. */
void trace_maker_end_step(struct trace_maker *maker);

#endif
