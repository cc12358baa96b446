/* What the programs of this folder have in common: a device with a few streams, and kernels that use memory
 * in each of the ways that matter. */
#ifndef WORLD_H
#define WORLD_H

#include <stdbool.h>

#include "../driver/check.h"

#define COUNT 1024 /* words in a buffer */
#define BYTES (COUNT * 4)
#define MANAGED_BYTES (2 << 20)

struct world {
    CUcontext context;
    CUstream a, b; /* non-blocking */
    CUstream blocking, blocking2;
    CUevent event, event2;
    CUdeviceptr x, y, z; /* of BYTES each */
    CUdeviceptr managed; /* of MANAGED_BYTES, written */
    unsigned *pinned;    /* of BYTES */
    CUfunction copy, bytes, count, raise, look, shuffle, borrow;
};

struct sample {
    const char *name;
    const char *expected; /* what the report begins with; NULL: there must be none */
    void (*run)(struct world *w);
};

/* out[i] = in[i] */
void copy_words(struct world *w, CUdeviceptr out, CUdeviceptr in, CUstream stream);
/* at[2 * i] = 1, bytes */
void write_every_other(struct world *w, CUdeviceptr at, CUstream stream);
/* atomicAdd(at, 1) */
void count_up(struct world *w, CUdeviceptr at, CUstream stream);
/* volatile: *at = 1, out = *at */
void raise_flag(struct world *w, CUdeviceptr at, CUstream stream);
void look_at_flag(struct world *w, CUdeviceptr out, CUdeviceptr at, CUstream stream);
/* Writes at[i], waits for the block, reads at[i ^ 1]. */
void shuffle(struct world *w, CUdeviceptr at, CUstream stream);

/* Takes memory of malloc, writes it and gives it back. */
void borrow(struct world *w, CUstream stream);

/* `second` waits for what `first` has got so far. */
void let_wait(struct world *w, CUstream first, CUstream second);
void discard(struct world *w, CUdeviceptr at, CUstream stream);
void prefetch(struct world *w, CUdeviceptr at, CUmemLocationType to, CUstream stream);
void discard_and_prefetch(struct world *w, CUdeviceptr at, CUstream stream);
/* Advice about the host. */
void advise(CUdeviceptr at, size_t bytes, CUmem_advise advice);
CUdeviceptr allocate(CUstream stream);

/* `main` of such a program: without an argument lists the samples, with one runs that. */
int run_samples(const struct sample *samples, size_t count, int argc, char **argv);

#endif
