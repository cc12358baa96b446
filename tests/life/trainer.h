/* A small program that uses CUDA as a training loop does: blocks of several times the budget, one kernel that
 * adds to each in turn, so that data comes and goes all the time and a wrong sum shows. For tests of where
 * such a program may live; it knows nothing of what is preloaded. */
#ifndef TRAINER_H
#define TRAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda.h>

#define TRAINER_BLOCKS 12
#define TRAINER_BLOCK_BYTES ((size_t)2 << 20)

struct trainer {
    CUcontext context;
    CUmodule module;
    CUfunction add;
    CUstream stream;
    CUdeviceptr blocks[TRAINER_BLOCKS];
    _Atomic uint32_t
        expected[TRAINER_BLOCKS]; /* one thread may still launch while another ends the program */
};

/* Each returns CUDA_SUCCESS or the first error; `trainer_check` CUDA_ERROR_ASSERT for a wrong sum. */
CUresult trainer_start(struct trainer *trainer);
/* In another thread than the one that started it. */
CUresult trainer_enter(const struct trainer *trainer);
CUresult trainer_steps(struct trainer *trainer, int steps);
CUresult trainer_check(struct trainer *trainer);
CUresult trainer_stop(struct trainer *trainer);

/* All of it. */
CUresult trainer_run(int steps);

/* Ends the process with status 2 and a line on stderr. Usable between fork and exec. */
void must_be(bool holds, const char *what, int line);
#define must(condition) must_be(condition, #condition, __LINE__)

#endif
