/* For programs of the Driver API: ends the program if a call fails. */
#ifndef SLUICE_BENCH_MUST_H
#define SLUICE_BENCH_MUST_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <cuda.h>

#define must(call)                                                                                           \
    do {                                                                                                     \
        CUresult must_result = (call);                                                                       \
        if (must_result != CUDA_SUCCESS) {                                                                   \
            fprintf(stderr, "%s: %s: error %d\n", program_invocation_short_name, #call, (int)must_result);   \
            exit(1);                                                                                         \
        }                                                                                                    \
    } while (0)

#endif
