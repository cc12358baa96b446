/* What the parts of the unified-memory probe share. Each part measures one question and prints its results on
 * standard output, a JSON object a line, so that a part that is stopped by its time limit keeps what it had.
 * The probe is a program, not a library: a driver call that fails ends it with one line. */
#ifndef PROBE_H
#define PROBE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "driver.h"

#define MIB ((uint64_t)1 << 20)
#define GIB ((uint64_t)1 << 30)

struct probe {
    CUdevice device;
    CUcontext context;
    CUfunction spin, nothing, read_all, write_all, product, copy_all, fill, count_others;
    CUdeviceptr scratch; /* device memory that kernels may write a result to */
    uint64_t bytes;      /* managed memory that a part may have populated at one time */
    uint64_t spin_count; /* for about 20 ms, or what the command line allows */
    int repeat;          /* measurements of which the fastest counts */
    int product_width;   /* of the square matrices */
    bool can_discard;
    CUevent origin; /* of the device's clock, if that is used (clock.h), or NULL */
};

/* The image of kernels.cu. */
extern const char probe_kernels[];

void must_succeed(CUresult result, const char *what);
#define MUST(call) must_succeed(call, #call)

double now_seconds(void);

/* How managed memory is advised before its first use. */
enum advice { ADVICE_NONE, ADVICE_ACCESSED_BY, ADVICE_HOST_ACCESSED_BY, ADVICE_COUNT };
extern const char *const advice_names[ADVICE_COUNT];

/* Unpopulated managed memory; ends the probe if it is more than a part may have. To be freed with cuMemFree.
 */
CUdeviceptr managed_new(const struct probe *probe, uint64_t bytes, enum advice advice);
void advise(const struct probe *probe, CUdeviceptr memory, uint64_t bytes, CUmem_advise advice, bool device);
CUstream stream_new(void);
CUevent event_new(void);
uint64_t free_device_bytes(void);

void launch_spin(const struct probe *probe, CUstream stream);
void launch_nothing(const struct probe *probe, CUstream stream);
void launch_read(const struct probe *probe, CUdeviceptr data, uint64_t bytes, CUstream stream);
void launch_write(const struct probe *probe, CUdeviceptr data, uint64_t bytes, CUstream stream);
/* `bytes` each are read and written. */
void launch_copy(const struct probe *probe, CUdeviceptr to, CUdeviceptr from, uint64_t bytes,
                 CUstream stream);
/* Words, not bytes: all of `data` becomes `value`. */
void launch_fill(const struct probe *probe, CUdeviceptr data, uint64_t bytes, unsigned value,
                 CUstream stream);
/* Counts the words that are other than `value`, for counted(). */
void launch_count(const struct probe *probe, CUdeviceptr data, uint64_t bytes, unsigned value,
                  CUstream stream);
/* What the last launch_count() on the stream found; waits for it. */
uint64_t counted(const struct probe *probe, CUstream stream);
/* The same for memory of the host. */
uint64_t words_other_than(const void *data, uint64_t bytes, unsigned value);
void prefetch(const struct probe *probe, CUdeviceptr data, uint64_t bytes, bool to_device, CUstream stream);

/* One step that managed memory goes through:
 *   h  the host writes all of it          w  a kernel writes all of it
 *   d  prefetch to the device             e  prefetch to the host (evict)
 *   x  discard                            p  discard and prefetch to the device
 * False if the driver lacks the function. Does not wait, except for `h`, which needs an idle device. */
bool move(const struct probe *probe, char step, CUdeviceptr data, uint64_t bytes, CUstream stream);
/* All steps of a text, each finished before the next. */
bool move_all(const struct probe *probe, const char *steps, CUdeviceptr data, uint64_t bytes,
              CUstream stream);

/* Seconds between two recorded events; waits for the second. */
double elapsed_seconds(CUevent from, CUevent to);

void part_device(struct probe *probe);
void part_bandwidth(struct probe *probe);
void part_residency(struct probe *probe);
void part_moves(struct probe *probe);
void part_remote(struct probe *probe);
void part_calls(struct probe *probe);
void part_scaling(struct probe *probe);
void part_beside(struct probe *probe);
void part_readmostly(struct probe *probe);
void part_streaming(struct probe *probe);
void part_copies(struct probe *probe);
void part_vmm(struct probe *probe);
void part_allocate(struct probe *probe);
/* What sluice's makers doubt: see answer.h for what these print. part_names and part_tensormap
 * open no device: they are given nothing. */
void part_names(struct probe *probe);
void part_tensormap(struct probe *probe);
void part_events(struct probe *probe);
void part_prefetches(struct probe *probe);
void part_memory(struct probe *probe);
void part_nodes(struct probe *probe);
void part_queue(struct probe *probe);
void part_discards(struct probe *probe);
void part_reuse(struct probe *probe);

#endif
